//! Counts the memory that a piece of code holds.
#![allow(unsafe_code, reason = "an allocator cannot be written without; it only counts and passes on to the system's")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a piece of code did with memory, on its own thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Most bytes held at once, beyond what was held before.
    pub peak: usize,
    /// Requests for memory.
    pub requests: u64,
}

struct Counting;

thread_local! {
    /// Bytes held since the count began; below zero when older ones were freed.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn taken(bytes: usize) {
    // A thread that ends may free memory after its counters are gone; nobody looks at those.
    _ = HELD.try_with(|held| {
        held.set(held.get() + bytes as isize);
        _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
    _ = REQUESTS.try_with(|requests| requests.set(requests.get() + 1));
}

fn freed(bytes: usize) {
    _ = HELD.try_with(|held| held.set(held.get() - bytes as isize));
}

// SAFETY: every call goes to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    /// Counts old and new room together for the moment in which both exist, which is the worst that can happen.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        freed(layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs something and says what it did with memory. What it returns is held when the count ends.
pub fn measure<T>(run: impl FnOnce() -> T) -> (T, Usage) {
    let before = (HELD.get(), PEAK.get(), REQUESTS.get());
    PEAK.set(before.0);
    let value = run();
    let usage = Usage { peak: (PEAK.get() - before.0).max(0) as usize, requests: REQUESTS.get() - before.2 };
    PEAK.set(before.1.max(PEAK.get()));
    (value, usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_counts_what_is_held_at_once() {
        let (_, one_by_one) = measure(|| (0..10).for_each(|_| drop(Vec::<u8>::with_capacity(1000))));
        assert_eq!(one_by_one, Usage { peak: 1000, requests: 10 });
        let (kept, at_once) = measure(|| (0..10).map(|_| vec![1u8; 1000]).collect::<Vec<_>>());
        assert!((10_000..12_000).contains(&at_once.peak), "{at_once:?}");
        let (_, freeing) = measure(|| drop(kept));
        assert_eq!(freeing.peak, 0);
        let (_, growing) = measure(|| vec![0u8; 100].reserve_exact(400));
        assert_eq!(growing.peak, 600, "while it grows a list has its old room and its new");
    }
}
