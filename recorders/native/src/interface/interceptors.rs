//! `__interceptor_read` and its kin: what ThreadSanitizer's runtime calls its own functions that stand in front of the
//! C library's. A program that defines `read` itself reaches the runtime's that way.
//!
//! Each is passed on to the function of that name: this runtime's, or else the C library's.

use crate::c_library::forward::forward;

macro_rules! interceptors {
    ($($name:ident)*) => { forward! { $(
        concat!("__interceptor_", stringify!($name)) => Forwarded::to_own(concat!(stringify!($name), "\0"));
    )* } };
}

interceptors! {
    __bzero __close __cxa_atexit __fprintf_chk __fxstat __fxstat64 __getdelim __isoc99_fprintf __isoc99_fscanf
    __isoc99_printf __isoc99_scanf __isoc99_snprintf __isoc99_sprintf __isoc99_sscanf __isoc99_vfprintf
    __isoc99_vfscanf __isoc99_vprintf __isoc99_vscanf __isoc99_vsnprintf __isoc99_vsprintf __isoc99_vsscanf
    __libc_memalign __lxstat __lxstat64 __overflow __pthread_mutex_lock __pthread_mutex_unlock __res_iclose
    __sigsetjmp __snprintf_chk __sprintf_chk __strndup __strxfrm_l __tls_get_addr __uflow __underflow
    __vsnprintf_chk __vsprintf_chk __wcsxfrm_l __woverflow __wuflow __wunderflow __xpg_strerror_r __xstat __xstat64
    _exit _obstack_begin _obstack_begin_1 _obstack_newchunk _setjmp abort accept accept4 aligned_alloc asctime
    asctime_r asprintf atexit backtrace backtrace_symbols bcmp bind bsearch bzero calloc canonicalize_file_name
    capget capset cfree clock_getcpuclockid clock_getres clock_gettime clock_settime clone close closedir confstr
    connect creat creat64 crypt crypt_r ctermid ctime ctime_r dl_iterate_phdr dlclose dlopen drand48_r dup dup2 dup3
    endgrent endpwent epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_wait ether_aton ether_aton_r
    ether_hostton ether_line ether_ntoa ether_ntoa_r ether_ntohost eventfd eventfd_read eventfd_write fclose fdopen
    fflush fgetgrent fgetgrent_r fgetpwent fgetpwent_r fgets fgetxattr flistxattr fmemopen fopen fopen64 fopencookie
    fork fprintf fputs fread free freopen freopen64 frexp frexpf frexpl fscanf fstat fstat64 fstatfs fstatfs64
    fstatvfs fstatvfs64 ftime fwrite get_current_dir_name getaddrinfo getcwd getdelim getgrent getgrent_r getgrgid
    getgrgid_r getgrnam getgrnam_r getgrouplist getgroups gethostbyaddr gethostbyaddr_r gethostbyname gethostbyname2
    gethostbyname2_r gethostbyname_r gethostent gethostent_r getifaddrs getitimer getline getloadavg getmntent
    getmntent_r getnameinfo getnetbyaddr getnetbyname getnetent getpass getpeername getprotobyname getprotobyname_r
    getprotobynumber getprotobynumber_r getprotoent getprotoent_r getpwent getpwent_r getpwnam getpwnam_r getpwuid
    getpwuid_r getrandom getresgid getresuid getsockname getsockopt gettimeofday getusershell getutent getutid
    getutline getutxent getutxid getutxline getxattr glob glob64 gmtime gmtime_r iconv if_indextoname if_nametoindex
    inet_aton inet_ntop inet_pton initgroups inotify_init inotify_init1 ioctl kill lgamma lgamma_r lgammaf lgammaf_r
    lgammal lgammal_r lgetxattr listen listxattr llistxattr localtime localtime_r longjmp lrand48_r lstat malloc
    malloc_usable_size mbsnrtowcs mbsrtowcs mbstowcs mcheck mcheck_pedantic memalign memchr memcmp memcpy memmem
    memmove memrchr memset mincore mktime mlock mlockall mmap mmap64 modf modff modfl mprobe mprotect msgrcv msgsnd
    munlock munlockall munmap name_to_handle_at nanosleep on_exit open open64 open_by_handle_at open_memstream
    open_wmemstream opendir pause pclose pipe pipe2 poll popen posix_memalign posix_spawn posix_spawnp ppoll prctl
    pread pread64 preadv preadv64 printf process_vm_readv process_vm_writev pthread_attr_getaffinity_np
    pthread_attr_getdetachstate pthread_attr_getguardsize pthread_attr_getinheritsched pthread_attr_getschedparam
    pthread_attr_getschedpolicy pthread_attr_getscope pthread_attr_getstack pthread_attr_getstacksize
    pthread_barrier_destroy pthread_barrier_init pthread_barrier_wait pthread_barrierattr_getpshared
    pthread_cond_broadcast pthread_cond_clockwait pthread_cond_destroy pthread_cond_init pthread_cond_signal
    pthread_cond_timedwait pthread_cond_wait pthread_condattr_getclock pthread_condattr_getpshared pthread_create
    pthread_detach pthread_exit pthread_getcpuclockid pthread_getname_np pthread_getschedparam pthread_join
    pthread_kill pthread_mutex_destroy pthread_mutex_init pthread_mutex_lock pthread_mutex_timedlock
    pthread_mutex_trylock pthread_mutex_unlock pthread_mutexattr_getprioceiling pthread_mutexattr_getprotocol
    pthread_mutexattr_getpshared pthread_mutexattr_getrobust pthread_mutexattr_getrobust_np
    pthread_mutexattr_gettype pthread_once pthread_rwlock_destroy pthread_rwlock_init pthread_rwlock_rdlock
    pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock
    pthread_rwlock_unlock pthread_rwlock_wrlock pthread_rwlockattr_getkind_np pthread_rwlockattr_getpshared
    pthread_setcancelstate pthread_setcanceltype pthread_setname_np pthread_sigmask pthread_spin_destroy
    pthread_spin_init pthread_spin_lock pthread_spin_trylock pthread_spin_unlock pthread_timedjoin_np
    pthread_tryjoin_np ptrace ptsname ptsname_r puts pututxline pvalloc pwrite pwrite64 pwritev pwritev64 qsort
    qsort_r raise rand_r random_r read readdir readdir64 readdir64_r readdir_r readlink readlinkat readv realloc
    reallocarray realpath recv recvfrom recvmmsg recvmsg regcomp regerror regexec regfree remquo remquof remquol
    rmdir scandir scandir64 scanf sched_getaffinity sched_getparam sem_destroy sem_getvalue sem_init sem_open
    sem_post sem_timedwait sem_trywait sem_unlink sem_wait send sendmmsg sendmsg sendto setbuf setbuffer setgrent
    setitimer setjmp setlinebuf setlocale setpwent setvbuf shmctl sigaction sigaltstack sigandset sigblock
    sigemptyset sigfillset siglongjmp signal signalfd sigorset sigpending sigprocmask sigsetjmp sigsetmask
    sigsuspend sigtimedwait sigwait sigwaitinfo sincos sincosf sincosl sleep snprintf socket socketpair sprintf
    sscanf stat statfs statfs64 statvfs statvfs64 strcasecmp strcasestr strchr strchrnul strcmp strcpy strcspn
    strdup strerror strerror_r strlen strncasecmp strncmp strncpy strndup strnlen strpbrk strptime strrchr strspn
    strstr strtoimax strtok strtoumax strxfrm strxfrm_l sysinfo tcgetattr tempnam textdomain time timerfd_gettime
    timerfd_settime times tmpfile tmpfile64 tmpnam tmpnam_r tsearch ttyname ttyname_r uname unlink usleep valloc
    vasprintf vfork vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wait wait3 wait4 waitid waitpid
    wcrtomb wcscat wcsdup wcslen wcsncat wcsnlen wcsnrtombs wcsrtombs wcstombs wcsxfrm wcsxfrm_l wctomb wordexp
    write writev xdr_bool xdr_bytes xdr_char xdr_destroy xdr_double xdr_enum xdr_float xdr_hyper xdr_int xdr_int16_t
    xdr_int32_t xdr_int64_t xdr_int8_t xdr_long xdr_longlong_t xdr_quad_t xdr_short xdr_string xdr_u_char
    xdr_u_hyper xdr_u_int xdr_u_long xdr_u_longlong_t xdr_u_quad_t xdr_u_short xdr_uint16_t xdr_uint32_t
    xdr_uint64_t xdr_uint8_t xdrmem_create xdrrec_create xdrstdio_create
}
