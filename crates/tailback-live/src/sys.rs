//! The system calls of a gateway, each as a safe function: the clock, waiting, namespaces, priority.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsRawFd;
use tailback_base::Duration;

pub(crate) fn check(answer: c_int) -> io::Result<c_int> {
    match answer {
        -1 => Err(io::Error::last_os_error()),
        n => Ok(n),
    }
}

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
pub fn monotonic() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of processor time of this thread, including the kernel's work for it.
pub fn thread_cpu() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call.
    unsafe { libc::clock_gettime(which, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Give this process its own network, which is empty except for a loopback device that is down.
///
/// # Errors
/// The kernel refuses: the capability `CAP_SYS_ADMIN` is missing, or it has no network namespaces.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Become root in a new user namespace, which may then have its own networks.
///
/// # Errors
/// The kernel allows no user namespaces to this user.
pub fn become_root_of_nothing() -> io::Result<()> {
    // SAFETY: these calls take and return numbers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Enter a network that has a name, such as `/run/netns/blue`.
///
/// # Errors
/// There is no network with this name, or the user has no permission.
pub fn join_network(path: &std::path::Path) -> io::Result<()> {
    let network = std::fs::File::open(path)?;
    // SAFETY: the descriptor is open.
    check(unsafe { libc::setns(network.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Let the kernel end this process when its parent ends, however that ends.
///
/// # Errors
/// The kernel refuses.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// Make the timers of this thread as exact as possible; otherwise they may be 50 us late.
pub fn exact_timers() {
    // SAFETY: no memory is involved. If the call fails, waking is less exact, and every run measures that.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Run this thread before all threads without real-time priority, or end this priority.
///
/// # Errors
/// The user has no permission.
pub fn set_real_time(on: bool) -> io::Result<()> {
    let (policy, priority) = if on {
        (libc::SCHED_FIFO, 10)
    } else {
        (libc::SCHED_OTHER, 0)
    };
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `param` outlives the call; 0 is the calling thread.
    check(unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &param) }).map(drop)
}

/// An error that means that nothing is available now is not an error.
pub(crate) fn no_wait<T>(e: io::Error) -> io::Result<Option<T>> {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(e),
    }
}

/// Sleep for this long, without being woken by devices.
pub fn pause(time: Duration) {
    std::thread::sleep(std::time::Duration::from_nanos(time.0));
}
