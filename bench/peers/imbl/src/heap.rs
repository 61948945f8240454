//! The allocator, and how many bytes are in use.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mimalloc::MiMalloc;

/// mimalloc, counting the requested bytes from [`start_counting`] on. Off otherwise: a counter that
/// all threads write would be measured too.
pub struct CountingAllocator;

static COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Called before anything that is to be counted exists and while there is one thread.
pub fn start_counting() {
    COUNTING.store(true, Ordering::Relaxed);
}

/// The bytes requested and not given back since [`start_counting`].
pub fn live_bytes() -> usize {
    LIVE_BYTES.load(Ordering::Relaxed)
}

// SAFETY: each call is passed on as it is; the counters touch no memory of the caller. The default
// `realloc` is built from the other two, so it is counted as well.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTING.load(Ordering::Relaxed) {
            LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if COUNTING.load(Ordering::Relaxed) {
            LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}
