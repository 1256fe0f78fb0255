//! The system calls of a gateway, each as a safe function: the clock, TUN devices, waiting, namespaces, priority.

use std::ffi::{c_int, c_short, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use tailback_base::Duration;

fn check(answer: c_int) -> io::Result<c_int> {
    match answer {
        -1 => Err(io::Error::last_os_error()),
        n => Ok(n),
    }
}

/// Nanoseconds of the monotonic clock, which all processes of a machine share.
pub fn monotonic() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of processor time of this thread, the kernel's work for it included.
pub fn thread_cpu() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(which: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` outlives the call.
    unsafe { libc::clock_gettime(which, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Give this process a network of its own, empty but for a loopback that is down.
///
/// # Errors
/// The kernel refuses: it wants the capability `CAP_SYS_ADMIN`, or has no network namespaces.
pub fn leave_network() -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Become the root of a user namespace of one's own, which may then have networks of its own.
///
/// # Errors
/// The kernel allows no user namespaces to this user.
pub fn become_root_of_nothing() -> io::Result<()> {
    // SAFETY: these calls take and give numbers.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(libc::CLONE_NEWUSER) })?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Take part in a network that has a name, such as `/run/netns/blue`.
///
/// # Errors
/// There is none of this name, or the user may not.
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

/// Let timers of this thread be as exact as they can be; otherwise they may come 50 us late.
pub fn exact_timers() {
    // SAFETY: no memory is involved. Where it fails, waking is less exact, which every run measures.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Run this thread before all that have no real-time priority; or end that.
///
/// # Errors
/// The user may not.
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

/// `struct ifreq` as `TUNSETIFF` reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: c_short,
    rest: [u8; 22],
}

/// Make a TUN device of this name in the network of this process. It lasts as long as what is returned.
///
/// # Errors
/// There is no `/dev/net/tun`, the user may not open it, or the name is taken.
pub fn make_tun(name: &str) -> io::Result<OwnedFd> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/net/tun")?;
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TUN | libc::IFF_NO_PI) as c_short,
        rest: [0; 22],
    };
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    request.name[..bytes.len()].copy_from_slice(bytes);
    // SAFETY: `request` has the layout and the size of an ifreq, and outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })?;
    Ok(file.into())
}

/// One side of the gateway: an open TUN device that never waits.
pub struct Device {
    fd: OwnedFd,
}

impl Device {
    /// Take over a descriptor.
    ///
    /// # Errors
    /// It is none.
    pub fn take(fd: RawFd) -> io::Result<Device> {
        // SAFETY: no memory is involved; a number that is no descriptor is refused here.
        let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
        // SAFETY: as above.
        check(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
        // SAFETY: it is open, and the caller gives it away.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Device { fd })
    }

    /// The next packet; `None` when there is none now.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: `into` is as long as is said.
        let n = unsafe { libc::read(self.fd.as_raw_fd(), into.as_mut_ptr().cast::<c_void>(), into.len()) };
        match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => no_wait(io::Error::last_os_error()),
        }
    }

    /// Hand a packet to the network behind the device; false when it would not take it.
    ///
    /// # Errors
    /// The device is gone.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        // SAFETY: `packet` is as long as is said.
        let n = unsafe { libc::write(self.fd.as_raw_fd(), packet.as_ptr().cast::<c_void>(), packet.len()) };
        match n {
            -1 => no_wait::<()>(io::Error::last_os_error()).map(|_| false),
            _ => Ok(true),
        }
    }
}

/// Nothing now is no error.
fn no_wait<T>(e: io::Error) -> io::Result<Option<T>> {
    match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(e),
    }
}

/// Sleep for this long, whatever comes.
pub fn pause(time: Duration) {
    std::thread::sleep(std::time::Duration::from_nanos(time.0));
}

/// Sleep until a device has a packet, or for this long.
pub fn wait(devices: [&Device; 2], most: Duration) {
    let mut fds = devices.map(|d| libc::pollfd {
        fd: d.fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let time = libc::timespec {
        tv_sec: (most.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (most.0 % 1_000_000_000) as _,
    };
    // SAFETY: `fds` and `time` outlive the call. An interruption ends the sleep early, which does no harm.
    unsafe { libc::ppoll(fds.as_mut_ptr(), 2, &time, std::ptr::null()) };
}
