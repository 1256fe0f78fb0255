//! An implicit 4-ary heap with a hole at the root.
//!
//! A pop only leaves a hole at the root. If a push follows, the new entry starts down from the hole: one walk instead
//! of two.
//!
//! Cost: a pop and a push are about log4(n) levels of 4 comparisons of 128-bit keys.

use super::EventKey;

#[derive(Default)]
pub struct Heap {
    heap: Vec<EventKey>,
    /// The root has been popped and not yet replaced.
    hole: bool,
}

impl Heap {
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.hole)
    }

    pub fn push(&mut self, key: EventKey) {
        if self.hole {
            self.hole = false;
            self.settle(key);
        } else {
            self.rise(key);
        }
    }

    /// The least key.
    #[inline]
    pub fn peek(&mut self) -> Option<EventKey> {
        if self.hole {
            self.fill();
        }
        self.heap.first().copied()
    }

    /// Take the event that `peek` showed.
    #[inline]
    pub fn take(&mut self) {
        self.hole = true;
    }

    fn fill(&mut self) {
        self.hole = false;
        if let Some(last_key) = self.heap.pop() {
            // Otherwise the hole was the only entry of the heap.
            if !self.heap.is_empty() {
                self.sink(last_key);
            }
        }
    }

    /// The least child of the hole at `i`, if it has children.
    #[inline(always)]
    fn least_child(heap: &[EventKey], i: usize) -> Option<(usize, EventKey)> {
        let first_child = 4 * i + 1;
        if let Some(Ok(four)) = heap.get(first_child..first_child + 4).map(<&[EventKey; 4]>::try_from) {
            let (a, ka) = if four[1] < four[0] { (1, four[1]) } else { (0, four[0]) };
            let (b, kb) = if four[3] < four[2] { (3, four[3]) } else { (2, four[2]) };
            return Some(if kb < ka {
                (first_child + b, kb)
            } else {
                (first_child + a, ka)
            });
        }
        heap.get(first_child..)?
            .iter()
            .copied()
            .enumerate()
            .map(|(c, k)| (first_child + c, k))
            .min_by_key(|(_, k)| *k)
    }

    /// Fill the hole at the root with an event that follows soon, such as the next packet of a wire: move it down
    /// until it fits.
    fn settle(&mut self, key: EventKey) {
        let heap = &mut self.heap[..];
        let mut i = 0;
        while let Some((least_child, k)) = Heap::least_child(heap, i) {
            if k >= key {
                break;
            }
            heap[i] = k;
            i = least_child;
        }
        heap[i] = key;
    }

    /// Fill the hole at the root with the last leaf, which belongs near the bottom. Move the hole all the way down
    /// without comparing, then let the key rise by at most one step.
    fn sink(&mut self, key: EventKey) {
        let heap = &mut self.heap[..];
        let mut i = 0;
        while let Some((least, k)) = Heap::least_child(heap, i) {
            heap[i] = k;
            i = least;
        }
        while i > 0 {
            let parent = (i - 1) / 4;
            let k = heap[parent];
            if k <= key {
                break;
            }
            heap[i] = k;
            i = parent;
        }
        heap[i] = key;
    }

    fn rise(&mut self, key: EventKey) {
        let mut i = self.heap.len();
        self.heap.push(key);
        while i > 0 {
            let parent = (i - 1) / 4;
            if self.heap[parent] <= key {
                break;
            }
            self.heap[i] = self.heap[parent];
            i = parent;
        }
        self.heap[i] = key;
    }
}
