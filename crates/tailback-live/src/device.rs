//! The two kinds of device at a gateway: TUN devices, which carry IP packets, and interfaces of the user, whose
//! frames are taken and sent unchanged.
//!
//! An interface is opened as a packet socket. Its settings are not changed: its promiscuous mode ends with the
//! socket, however the process ends.

use crate::ethernet::{self, DESCRIPTOR, Offload};
use crate::sys::{check, no_wait};
use std::ffi::{CString, c_int, c_short, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use tailback_base::Duration;

/// The largest IP packet, with the headers before it.
pub const LARGEST: usize = 65_536 + 64;
/// Size of the buffer of an interface's socket, bytes.
const WAITING: c_int = 1 << 25;
/// The protocol number of all protocols (linux/if_ether.h), in network byte order.
const EVERYTHING: u16 = (libc::ETH_P_ALL as u16).to_be();
/// Room for a tag that the kernel has removed from a frame.
const TAG: usize = 4;
const MACS: usize = 12;

/// `struct ifreq` as `TUNSETIFF` reads it.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    flags: c_short,
    rest: [u8; 22],
}

/// Make a TUN device with this name in the network of this process. It exists as long as the returned descriptor.
///
/// # Errors
/// `/dev/net/tun` does not exist, the user may not open it, or the name is taken.
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

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let (pointer, length) = ((&raw const *value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: `value` outlives the call and has the given length.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, pointer, length) }).map(drop)
}

/// Open a socket for an interface in this process's network; it gets all frames that the interface receives.
///
/// # Errors
/// There is no interface with this name, the user has no permission, or the kernel is older than 4.20.
pub fn open_interface(name: &str) -> io::Result<OwnedFd> {
    let text = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: `text` outlives the call.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    // Without a protocol the socket gets no frames until it is bound to the interface. SAFETY: no memory is involved.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is open and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let enabled: c_int = 1;
    set(&socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &enabled)?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &enabled)?;
    set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &enabled)?;
    // Bypass the interface's own queue, because it would be a second queue after ours.
    set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &enabled)?;
    // The first option needs a privilege, and a setting of the machine limits the second one.
    set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &WAITING)
        .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &WAITING))?;
    let everyone = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as _,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &everyone)?;
    // SAFETY: a structure of numbers, for which zero is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    (address.sll_family, address.sll_protocol) = (libc::AF_PACKET as _, EVERYTHING);
    address.sll_ifindex = index as c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: `address` outlives the call and has the given length.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), length) })?;
    Ok(socket)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DeviceKind {
    Tun,
    Interface,
}

/// One side of the gateway: an open device that never blocks.
pub struct Device {
    fd: OwnedFd,
    kind: DeviceKind,
}

/// The result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    Nothing,
    /// One packet, or the segments of one.
    Packets,
    /// A frame that cannot be forwarded.
    Unknown,
}

impl Device {
    /// Take over a descriptor of [`make_tun`] or [`open_interface`].
    ///
    /// # Errors
    /// `fd` is not an open descriptor.
    pub fn take(fd: RawFd) -> io::Result<Device> {
        // SAFETY: no memory is involved; a number that is not a descriptor is refused here.
        let flags = check(unsafe { libc::fcntl(fd, libc::F_GETFL) })?;
        // SAFETY: as above.
        check(unsafe { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) })?;
        // SAFETY: the descriptor is open, and the caller gives up its ownership.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let domain: io::Result<c_int> = option(&fd, libc::SOL_SOCKET, libc::SO_DOMAIN);
        let kind = match domain {
            Ok(libc::AF_PACKET) => DeviceKind::Interface,
            _ => DeviceKind::Tun,
        };
        Ok(Device { fd, kind })
    }

    pub fn descriptor(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Read the next frame, split into packets as a wire would carry them. Each packet is passed on with the position
    /// of its IP header, if it has one.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&self, buffer: &mut [u8], each: &mut dyn FnMut(&[u8], Option<usize>)) -> io::Result<Got> {
        match self.kind {
            DeviceKind::Tun => {
                // SAFETY: `buffer` has the given length.
                let n = unsafe { libc::read(self.descriptor(), buffer.as_mut_ptr().cast::<c_void>(), buffer.len()) };
                let Ok(n) = usize::try_from(n) else {
                    return no_wait::<()>(io::Error::last_os_error()).map(|_| Got::Nothing);
                };
                each(&buffer[..n], Some(0));
                Ok(Got::Packets)
            }
            DeviceKind::Interface => self.frame(buffer, each),
        }
    }

    fn frame(&self, buffer: &mut [u8], each: &mut dyn FnMut(&[u8], Option<usize>)) -> io::Result<Got> {
        let mut descriptor = [0; DESCRIPTOR];
        let (n, tag) = match self.receive(&mut descriptor, &mut buffer[TAG..]) {
            Ok(Some(got)) => got,
            Ok(None) => return Ok(Got::Nothing),
            // The kernel cannot describe the work that was left to the network card, so the frame is lost.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => return Ok(Got::Unknown),
            Err(e) => return Err(e),
        };
        let mut offload = Offload::read(&descriptor);
        let frame = match tag {
            None => &mut buffer[TAG..TAG + n],
            Some(tag) => {
                buffer.copy_within(TAG..TAG + MACS, 0);
                buffer[MACS..MACS + TAG].copy_from_slice(&tag);
                offload.moved(TAG as u16);
                &mut buffer[..n + TAG]
            }
        };
        let is_understood = ethernet::cut(offload, frame, &mut |f| each(f, ethernet::ip_at(f)));
        Ok(if is_understood { Got::Packets } else { Got::Unknown })
    }

    /// The length of the next frame, and the tag that was removed from it.
    fn receive(&self, descriptor: &mut [u8], frame: &mut [u8]) -> io::Result<Option<(usize, Option<[u8; TAG]>)>> {
        let mut parts = [descriptor, frame].map(|p| libc::iovec {
            iov_base: p.as_mut_ptr().cast(),
            iov_len: p.len(),
        });
        let mut beside = [0u64; 8];
        // SAFETY: a structure of numbers and pointers, for which zero is a valid value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        (message.msg_control, message.msg_controllen) = (beside.as_mut_ptr().cast(), size_of_val(&beside) as _);
        // SAFETY: everything that `message` points to outlives the call.
        let n = unsafe { libc::recvmsg(self.descriptor(), &mut message, 0) };
        let Ok(n) = usize::try_from(n) else {
            return no_wait(io::Error::last_os_error());
        };
        if message.msg_flags & libc::MSG_TRUNC != 0 || n < DESCRIPTOR + MACS {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: the kernel has filled `message`.
        let control = unsafe { libc::CMSG_FIRSTHDR(&message).as_ref() };
        let aux_data = control.filter(|c| c.cmsg_level == libc::SOL_PACKET && c.cmsg_type == libc::PACKET_AUXDATA);
        let tag = aux_data.and_then(|c| {
            // SAFETY: the kernel has written such a structure after this header.
            let a = unsafe { libc::CMSG_DATA(c).cast::<libc::tpacket_auxdata>().read_unaligned() };
            let has_tag = a.tp_status & libc::TP_STATUS_VLAN_VALID != 0;
            let ([a, b], [c, d]) = (a.tp_vlan_tpid.to_be_bytes(), a.tp_vlan_tci.to_be_bytes());
            has_tag.then_some([a, b, c, d])
        });
        Ok(Some((n - DESCRIPTOR, tag)))
    }

    /// Pass a packet to the network behind the device; returns false if the device does not accept it.
    ///
    /// # Errors
    /// The device is gone.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        // Nothing is left to the network card.
        const NOTHING: [u8; DESCRIPTOR] = [0; DESCRIPTOR];
        let n = match self.kind {
            // SAFETY: `packet` has the given length.
            DeviceKind::Tun => unsafe {
                libc::write(self.descriptor(), packet.as_ptr().cast::<c_void>(), packet.len())
            },
            DeviceKind::Interface => {
                let parts = [&NOTHING[..], packet].map(|p| libc::iovec {
                    iov_base: p.as_ptr().cast_mut().cast(),
                    iov_len: p.len(),
                });
                // SAFETY: `parts` and what they point to outlive the call, which only reads.
                unsafe { libc::writev(self.descriptor(), parts.as_ptr(), parts.len() as c_int) }
            }
        };
        match n {
            -1 => no_wait::<()>(io::Error::last_os_error()).map(|_| false),
            _ => Ok(true),
        }
    }

    /// Frames lost since the last call because the kernel had no room for them.
    pub fn lost(&self) -> u64 {
        match self.kind {
            DeviceKind::Tun => 0,
            DeviceKind::Interface => {
                let statistics = option::<libc::tpacket_stats>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS);
                statistics.map_or(0, |s| u64::from(s.tp_drops))
            }
        }
    }
}

fn option<T>(socket: &OwnedFd, level: c_int, option: c_int) -> io::Result<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` has the given length. Only structures of numbers are requested, for which zero is a valid value.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_mut_ptr().cast(),
            &mut length,
        )
    })?;
    // SAFETY: as above.
    Ok(unsafe { value.assume_init() })
}

/// Sleep until a device has a packet, or for this long.
pub fn wait(devices: [&Device; 2], most: Duration) {
    let mut fds = devices.map(|d| libc::pollfd {
        fd: d.descriptor(),
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
