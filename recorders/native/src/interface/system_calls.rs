//! `__sanitizer_syscall_pre_impl_read` and its kin: with them, a program that makes system calls of its own announces
//! what the kernel reads and writes on its behalf (`sanitizer/linux_syscall_hooks.h`). What `read` and `write` pass is
//! recorded, though no order through the file. Of the others, what the kernel writes is memory that unrecorded code
//! changes.

use crate::platform::export::export;
use crate::runtime::accesses::{arrives, passes};
use crate::runtime::guard::RuntimeGuard;
use libc::{c_long, c_void};

macro_rules! system_calls {
    ($($name:ident)*) => { $(
        mod $name {
            #[unsafe(export_name = concat!("__sanitizer_syscall_pre_impl_", stringify!($name)))]
            unsafe extern "C" fn before() {}

            #[unsafe(export_name = concat!("__sanitizer_syscall_post_impl_", stringify!($name)))]
            unsafe extern "C" fn after() {}
        }
    )* };
}

system_calls! {
    accept accept4 access acct add_key adjtimex alarm bdflush bind brk capget capset chdir chmod chown chroot
    clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime close connect creat delete_module dup
    dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 exit
    exit_group faccessat fchdir fchmod fchmodat fchown fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock
    fork fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate futimesat get_mempolicy
    get_robust_list getcpu getcwd getdents getdents64 getegid geteuid getgid getgroups gethostname getitimer
    getpeername getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid
    getsockname getsockopt gettid gettimeofday getuid getxattr init_module inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup io_submit ioctl ioperm ioprio_get
    ioprio_set ipc kexec_load keyctl kill lchown lgetxattr link linkat listen listxattr llistxattr llseek
    lookup_dcookie lremovexattr lseek lsetxattr lstat lstat64 madvise mbind migrate_pages mincore mkdir mkdirat
    mknod mknodat mlock mlockall mmap_pgoff mount move_pages mprotect mq_getsetattr mq_notify mq_open
    mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap
    name_to_handle_at nanosleep newfstat newfstatat newlstat newstat newuname ni_syscall nice old_getrlimit old_mmap
    old_readdir old_select oldumount olduname open open_by_handle_at openat pause pciconfig_iobase pciconfig_read
    pciconfig_write perf_event_open personality pipe pipe2 pivot_root poll ppoll pread64 preadv prlimit64
    process_vm_readv process_vm_writev pselect6 ptrace pwrite64 pwritev quotactl readlink readlinkat readv
    reboot recv recvfrom recvmmsg recvmsg remap_file_pages removexattr rename renameat request_key restart_syscall
    rmdir rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler
    sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield select semctl semget semop
    semtimedop send sendfile sendfile64 sendmmsg sendmsg sendto set_mempolicy set_robust_list set_tid_address
    setdomainname setfsgid setfsuid setgid setgroups sethostname setitimer setns setpgid setpriority setregid
    setresgid setresuid setreuid setrlimit setsid setsockopt settimeofday setuid setxattr sgetmask shmat shmctl
    shmdt shmget shutdown sigaction sigaltstack signal signalfd signalfd4 sigpending sigprocmask socket socketcall
    socketpair splice spu_create spu_run ssetmask stat stat64 statfs statfs64 stime swapoff swapon symlink symlinkat
    sync syncfs sysctl sysfs sysinfo syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask umount uname unlink
    unlinkat unshare uselib ustat utime utimensat utimes vfork vhangup vmsplice wait4 waitid waitpid writev
}

unsafe extern "C-unwind" fn before_write(_file: c_long, from: *const c_void, len: usize, pc: usize) {
    if let Some(_inside) = RuntimeGuard::enter() {
        passes(from, len, pc);
    }
}

/// What the kernel wrote is announced when it is done, so no live run stops before it.
unsafe extern "C-unwind" fn after_read(result: c_long, _file: c_long, to: *const c_void, _len: usize, pc: usize) {
    if let Ok(len @ 1..) = usize::try_from(result)
        && let Some(_inside) = RuntimeGuard::enter()
    {
        arrives(to, len, pc);
    }
}

unsafe extern "C-unwind" fn nothing(_pc: usize) {}

export! {
    __sanitizer_syscall_pre_impl_write = before_write, "rcx";
    __sanitizer_syscall_pre_impl_read = nothing, "rdi";
    __sanitizer_syscall_post_impl_read = after_read, "r8";
    __sanitizer_syscall_post_impl_write = nothing, "rdi";
}
