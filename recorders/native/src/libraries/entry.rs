//! Functions of a library that the runtime takes over.
//!
//! Each knows where it was called from, like those of [`export`](crate::platform::export); here also those that take
//! more arguments than there are registers. Where nothing is recorded, the library's own function is called.

/// The assembly of an entry: `reg "rdi"`, the first register that the arguments leave free, or `stack N`, for six
/// arguments in registers and N on the stack, which are handed on with the return address behind them.
macro_rules! hand_on {
    (reg $register:literal) => {
        concat!("mov ", $register, ", qword ptr [rsp]\n jmp {body}")
    };
    (stack 0) => {
        "push qword ptr [rsp]\n call {body}\n add rsp, 8\n ret"
    };
    (stack 1) => {
        "sub rsp, 8\n push qword ptr [rsp + 8]\n push qword ptr [rsp + 24]\n call {body}\n add rsp, 24\n ret"
    };
    (stack 2) => {
        "push qword ptr [rsp]\n push qword ptr [rsp + 24]\n push qword ptr [rsp + 24]\n call {body}\n add rsp, 24\n ret"
    };
    (stack 3) => {
        concat!(
            "sub rsp, 8\n push qword ptr [rsp + 8]\n push qword ptr [rsp + 40]\n push qword ptr [rsp + 40]\n",
            "push qword ptr [rsp + 40]\n call {body}\n add rsp, 40\n ret"
        )
    };
    (stack 4) => {
        concat!(
            "push qword ptr [rsp]\n push qword ptr [rsp + 40]\n push qword ptr [rsp + 40]\n push qword ptr [rsp + 40]\n",
            "push qword ptr [rsp + 40]\n call {body}\n add rsp, 40\n ret"
        )
    };
    (stack 5) => {
        concat!(
            "sub rsp, 8\n push qword ptr [rsp + 8]\n push qword ptr [rsp + 56]\n push qword ptr [rsp + 56]\n",
            "push qword ptr [rsp + 56]\n push qword ptr [rsp + 56]\n push qword ptr [rsp + 56]\n call {body}\n",
            "add rsp, 56\n ret"
        )
    };
}
pub(crate) use hand_on;

/// Takes functions over: `name(arguments) -> result, reg "…": |inside, pc| body;`. The body is unsafe code.
macro_rules! entries {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty, $kind:ident $where:tt:
        |$inside:ident, $pc:ident| $body:block)*) => { $(
        const _: () = {
            unsafe extern "C-unwind" fn body($($argument: $type,)* $pc: usize) -> $result {
                static REAL: core::sync::atomic::AtomicPtr<core::ffi::c_void> =
                    core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
                const NAME: &core::ffi::CStr =
                    match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    };
                let Some($inside) = $crate::runtime::guard::RuntimeGuard::enter() else {
                    let real = $crate::platform::real::resolve(&REAL, NAME);
                    // SAFETY: the library's function of that name, with the program's own arguments.
                    return unsafe {
                        let real: unsafe extern "C-unwind" fn($($type),*) -> $result = core::mem::transmute(real);
                        real($($argument),*)
                    };
                };
                let _ = (&$inside, $pc);
                // SAFETY: the program's own arguments, for the function that it called.
                #[allow(unused_unsafe, reason = "some bodies use nothing of what the program passed")]
                unsafe { $body }
            }

            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name() {
                core::arch::naked_asm!($crate::libraries::entry::hand_on!($kind $where), body = sym body)
            }
        };
    )* };
}
pub(crate) use entries;
