//! Dates. What the C library keeps of the time zone, it allocates in the first of these calls, whichever that is: so they
//! are made inside the runtime, where nobody records what they allocate.

use super::library::{length, reads_text, writes_text};
use crate::platform::export::export;
use crate::platform::real;
use crate::runtime::accesses::{enter, reads, writes};
use crate::scheduling::plan;
use core::cell::UnsafeCell;
use core::mem::{MaybeUninit, offset_of};
use core::{ptr, slice};
use libc::{c_char, c_int, c_long, time_t, tm};
use recorder_ring::plan::kind;

/// Memory of the runtime's own that all threads of the program get to see.
struct OfAll<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: only a thread with the baton writes it, in `kept` and `names::kept`.
unsafe impl<T> Sync for OfAll<T> {}

impl<T> OfAll<T> {
    const fn zeros() -> OfAll<T> {
        OfAll(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    fn place(&self) -> *mut T {
        self.0.get().cast()
    }

    fn range(&self) -> (usize, usize) {
        (self.place() as usize, size_of::<T>())
    }

    /// A copy of the first bytes of what the C library has for all threads: null if there is nothing.
    ///
    /// # Safety
    /// So many bytes are there, and no more than there is room for here; the thread has the baton.
    unsafe fn kept<P>(&self, found: *mut P, len: usize) -> *mut P {
        if found.is_null() {
            return found;
        }
        // SAFETY: promised by the caller.
        unsafe { real::memmove(self.place().cast(), found.cast(), len) };
        self.place().cast()
    }
}

/// What the latest call of any thread has found. There are two such objects for four functions (POSIX.1-2017, *asctime*),
/// and two calls beside each other race. A report names them.
#[unsafe(no_mangle)]
static result_of_localtime: OfAll<tm> = OfAll::zeros();

/// As [`result_of_localtime`]. The C library has no more characters, even if each number has twenty.
#[unsafe(no_mangle)]
static result_of_asctime: OfAll<[c_char; 128]> = OfAll::zeros();

/// The names of time zones that dates point to. The C library has them in blocks that the first call of some thread
/// allocates, so that in another run a date would point elsewhere; here their places depend on the names alone, but for
/// two with one hash.
mod names {
    use super::OfAll;
    use core::ffi::CStr;
    use libc::c_char;

    /// Bytes of a name, with its end. Longer ones stay where they are.
    const ROOM: usize = 16;

    const NAMES: usize = 64;

    static KEPT: OfAll<[[u8; ROOM]; NAMES]> = OfAll::zeros();

    /// Where a name stands.
    ///
    /// # Safety
    /// Null or a string; the thread has the baton.
    pub unsafe fn kept(name: *const c_char) -> *const c_char {
        if name.is_null() {
            return name;
        }
        // SAFETY: promised by the caller; nobody else has the baton.
        let (text, table) = unsafe { (CStr::from_ptr(name).to_bytes_with_nul(), &mut *KEPT.place()) };
        let hash = text
            .iter()
            .fold(0, |hash: usize, &letter| hash.wrapping_mul(31) + usize::from(letter));
        let mut places = (0..NAMES).map(|at| (hash + at) % NAMES);
        let place = places.find(|&at| table[at][0] == 0 || table[at].starts_with(text));
        match place {
            Some(at) if text.len() <= ROOM => {
                table[at][..text.len()].copy_from_slice(text);
                table[at].as_ptr().cast()
            }
            _ => name,
        }
    }
}

/// Accesses the fields of a date. What lies between two of them belongs to nobody, and holds anything.
fn date(time: *const tm, pc: usize, access: fn(*const u8, usize, usize)) {
    const ZONE: usize = offset_of!(tm, tm_gmtoff);
    const NUMBERS: usize = offset_of!(tm, tm_isdst) + size_of::<c_int>();
    let fields = time.cast::<u8>();
    access(fields, NUMBERS, pc);
    if !fields.is_null() {
        access(fields.wrapping_add(ZONE), size_of::<tm>() - ZONE, pc);
    }
}

/// Records the write of a date, if there is one.
///
/// # Safety
/// Null, or a date that the call wrote.
unsafe fn written(time: *mut tm, pc: usize) {
    // SAFETY: promised by the caller.
    if let Some(time) = unsafe { time.as_mut() } {
        // SAFETY: a name of the C library's; a thread inside the runtime has the baton.
        time.tm_zone = unsafe { names::kept(time.tm_zone) };
        date(time, pc, writes);
    }
}

/// The fields that `timegm` looks at: up to the year.
const NAMED_DAY: usize = offset_of!(tm, tm_wday);

/// Those that `asctime_r` looks at: up to the day of the week.
const BROKEN_DOWN: usize = offset_of!(tm, tm_yday);

/// Records writes of those fields of a date that are not as they were: which the call has set, only it knows.
///
/// # Safety
/// The call wrote there.
unsafe fn changed(before: &tm, to: *const tm, pc: usize) {
    const FIELD: usize = size_of::<c_int>();
    let before = ptr::from_ref(before).cast::<u8>();
    let after = to.cast::<u8>();
    let numbers = (0..offset_of!(tm, tm_isdst)).step_by(FIELD).map(|at| (at, FIELD));
    for (at, len) in numbers.chain([(offset_of!(tm, tm_gmtoff), size_of::<c_long>())]) {
        // SAFETY: promised by the caller; the copy is as long.
        let (old, new) = unsafe {
            let field = |of: *const u8| slice::from_raw_parts(of.add(at), len);
            (field(before), field(after))
        };
        if old != new {
            writes(after.wrapping_add(at), len, pc);
        }
    }
}

/// Along a plan, parks the thread if what a call writes to memory of all threads is the racing write.
fn before_writes(pc: usize, results: &[(usize, usize)]) {
    plan::before_call(pc, &[kind::WRITE], results);
}

mod of_libc {
    use libc::{time_t, tm};

    crate::platform::real::real! {
        fn tzset() -> ();
        fn localtime(from: *const time_t) -> *mut tm;
    }
}

library! {
    localtime(from: *const time_t) -> *mut tm, "rsi": quick {
        reads(from, size_of::<time_t>(), pc);
        before_writes(pc, &[result_of_localtime.range()]);
    } (date, pc) {
        date = result_of_localtime.kept(date, size_of::<tm>());
        written(date, pc);
    }
    gmtime(from: *const time_t) -> *mut tm, "rsi": quick {
        reads(from, size_of::<time_t>(), pc);
        before_writes(pc, &[result_of_localtime.range()]);
    } (date, pc) {
        date = result_of_localtime.kept(date, size_of::<tm>());
        written(date, pc);
    }
    ctime(from: *const time_t) -> *mut c_char, "rsi": quick {
        reads(from, size_of::<time_t>(), pc);
        before_writes(pc, &[result_of_localtime.range(), result_of_asctime.range()]);
    } (text, pc) {
        // As the standard has it: `asctime(localtime(from))`.
        written(result_of_localtime.kept(of_libc::localtime(from), size_of::<tm>()), pc);
        text = result_of_asctime.kept(text, if text.is_null() { 0 } else { length(text) + 1 });
        writes_text(text, pc);
    }
    asctime(time: *const tm) -> *mut c_char, "rsi": quick {
        reads(time, BROKEN_DOWN, pc);
        before_writes(pc, &[result_of_asctime.range()]);
    } (text, pc) {
        text = result_of_asctime.kept(text, if text.is_null() { 0 } else { length(text) + 1 });
        writes_text(text, pc);
    }
    localtime_r(from: *const time_t, to: *mut tm) -> *mut tm, "rdx": quick { reads(from, size_of::<time_t>(), pc); } (result, pc) {
        written(result, pc);
    }
    gmtime_r(from: *const time_t, to: *mut tm) -> *mut tm, "rdx": quick { reads(from, size_of::<time_t>(), pc); } (result, pc) {
        written(result, pc);
    }
    asctime_r(time: *const tm, to: *mut c_char) -> *mut c_char, "rdx": quick { reads(time, BROKEN_DOWN, pc); } (text, pc) {
        writes_text(text, pc);
    }
    ctime_r(from: *const time_t, to: *mut c_char) -> *mut c_char, "rdx": quick { reads(from, size_of::<time_t>(), pc); } (text, pc) {
        writes_text(text, pc);
    }
    strptime(text: *const c_char, format: *const c_char, to: *mut tm) -> *mut c_char, "rcx": quick {
        let before = to.as_ref().copied();
    } (rest, pc) {
        if !rest.is_null() {
            reads_text(format, pc);
            reads(text, rest as usize - text as usize, pc);
        }
        if let Some(before) = before { changed(&before, to, pc); }
    }
    timegm(time: *mut tm) -> time_t, "rsi": quick { reads(time, NAMED_DAY, pc); } (seconds, pc) {
        if seconds != -1 { written(time, pc); }
    }
    mktime(time: *mut tm) -> time_t, "rsi": quick { date(time, pc, reads); } (result, pc) {
        written(time, pc);
    }
    strftime(to: *mut c_char, room: usize, format: *const c_char, time: *const tm) -> usize, "r8": quick {
        date(time, pc, reads);
    } (len, pc) { if len > 0 { writes(to, len + 1, pc); } }
}

unsafe extern "C-unwind" fn find_zone(pc: usize) {
    let _inside = enter(pc);
    // SAFETY: looks at the environment, as the program wants it.
    unsafe { of_libc::tzset() }
}

export! {
    tzset = find_zone, "rdi";
}
