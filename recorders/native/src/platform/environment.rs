//! The process's environment, as the loader passes it: a list of C strings that ends with a null.

use core::ffi::{CStr, c_char};

/// The value of an entry `name=value`.
fn value_of<'a>(entry: &'a CStr, name: &[u8]) -> Option<&'a CStr> {
    let bytes = entry.to_bytes_with_nul();
    let value = bytes.strip_prefix(name)?.strip_prefix(b"=")?;
    CStr::from_bytes_with_nul(value).ok()
}

/// Removes a variable from the environment; its value.
///
/// # Safety
/// `environment` is a list of C strings that ends with a null, and nobody else uses it.
pub unsafe fn take_out(environment: *mut *mut c_char, name: &[u8]) -> Option<&'static CStr> {
    // SAFETY: stays within the list.
    unsafe {
        let (at, value) = position(environment, name)?;
        let mut at = at;
        while !(*at).is_null() {
            *at = *at.add(1);
            at = at.add(1);
        }
        Some(value)
    }
}

/// # Safety
/// As `take_out`.
pub unsafe fn position(environment: *mut *mut c_char, name: &[u8]) -> Option<(*mut *mut c_char, &'static CStr)> {
    let mut at = environment;
    // SAFETY: stays within the list.
    unsafe {
        while !(*at).is_null() {
            if let Some(value) = value_of(CStr::from_ptr(*at), name) {
                return Some((at, value));
            }
            at = at.add(1);
        }
    }
    None
}
