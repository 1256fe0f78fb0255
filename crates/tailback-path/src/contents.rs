//! The bytes of datagrams on their way, for a capture. A packet carries only a number. While [`DatagramBytes`] are kept
//! in a thread, the number also identifies the connection, so that the capture finds the datagram.

use std::cell::RefCell;
use std::rc::Weak;

/// A number above all numbers that other transports use: packets carry 48 bits.
const OURS: u64 = 1 << 47;
/// The bits that count the datagrams of a connection, and the most connections. Connections and datagrams beyond these
/// numbers are captured without their bytes.
const DATAGRAMS: u32 = 28;
const CONNECTIONS: usize = 1 << 19;

/// The data of one connection.
pub(crate) trait HeldBytes {
    fn bytes(&self, number: u64) -> Option<Vec<u8>>;
}

thread_local! {
    static KEPT: RefCell<Option<Vec<Weak<dyn HeldBytes>>>> = const { RefCell::new(None) };
}

/// As long as this value lives, datagrams of the connections that this thread makes can be looked up. A thread has only
/// one such value at a time.
///
/// ```
/// use tailback_path::DatagramBytes;
///
/// let contents = DatagramBytes::keep();
/// assert_eq!(contents.of(1), None);
/// ```
pub struct DatagramBytes(());

impl DatagramBytes {
    /// Keep datagrams from now on.
    pub fn keep() -> DatagramBytes {
        KEPT.set(Some(vec![]));
        DatagramBytes(())
    }

    /// The bytes of the datagram that a packet with this sequence number carries, if they are known.
    pub fn of(&self, sequence: u64) -> Option<Vec<u8>> {
        let connection = (sequence.checked_sub(OURS)? >> DATAGRAMS) as usize;
        let kept = KEPT.with_borrow(|kept| kept.as_ref()?.get(connection)?.upgrade());
        kept?.bytes(sequence)
    }
}

impl Drop for DatagramBytes {
    fn drop(&mut self) {
        KEPT.set(None);
    }
}

/// The number before that of the first datagram of a connection with this data.
pub(crate) fn first_number(data: Weak<dyn HeldBytes>) -> u64 {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(all) if all.len() < CONNECTIONS => {
            all.push(data);
            OURS | ((all.len() as u64 - 1) << DATAGRAMS)
        }
        _ => 0,
    })
}
