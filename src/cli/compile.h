/* What `witness cc` has gcc read before each file, by -include: so that what copies and compares memory stays a call, and
 * is recorded.
 *
 * gcc expands in place, after it has instrumented the code, what is called by a name that begins with __builtin_, even if
 * it is told -fno-builtin. libstdc++ copies by such names, and so do the C library's checked copies. Here these names mean
 * the functions themselves, under others by which gcc does not know them. Nothing may be declared that the program's
 * headers declare, and none of them included: that would be before the program says which features it wants.
 */
#ifndef __ASSEMBLER__
#pragma GCC system_header

#undef _FORTIFY_SOURCE

#ifdef __cplusplus
extern "C" {
#endif
#define WITNESS_CALL(result, name, ...) \
    extern result __witness_##name(__VA_ARGS__) __asm__(#name) __attribute__((__nothrow__));
WITNESS_CALL(int, bcmp, const void *, const void *, __SIZE_TYPE__)
WITNESS_CALL(void, bcopy, const void *, void *, __SIZE_TYPE__)
WITNESS_CALL(void, bzero, void *, __SIZE_TYPE__)
WITNESS_CALL(int, memcmp, const void *, const void *, __SIZE_TYPE__)
WITNESS_CALL(void *, memcpy, void *, const void *, __SIZE_TYPE__)
WITNESS_CALL(void *, memmove, void *, const void *, __SIZE_TYPE__)
WITNESS_CALL(void *, mempcpy, void *, const void *, __SIZE_TYPE__)
WITNESS_CALL(void *, memset, void *, int, __SIZE_TYPE__)
WITNESS_CALL(char *, stpcpy, char *, const char *)
WITNESS_CALL(char *, stpncpy, char *, const char *, __SIZE_TYPE__)
WITNESS_CALL(char *, strcat, char *, const char *)
WITNESS_CALL(int, strcmp, const char *, const char *)
WITNESS_CALL(char *, strcpy, char *, const char *)
WITNESS_CALL(char *, strncat, char *, const char *, __SIZE_TYPE__)
WITNESS_CALL(int, strncmp, const char *, const char *, __SIZE_TYPE__)
WITNESS_CALL(char *, strncpy, char *, const char *, __SIZE_TYPE__)
#undef WITNESS_CALL
#ifdef __cplusplus
}
#endif
#if defined __cplusplus && __GNUC__ >= 9
/* While gcc compiles, it computes by its own. */
#define __builtin_bcmp(...) \
    (__builtin_is_constant_evaluated() ? __builtin_bcmp(__VA_ARGS__) : __witness_bcmp(__VA_ARGS__))
#define __builtin_bcopy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_bcopy(__VA_ARGS__) : __witness_bcopy(__VA_ARGS__))
#define __builtin_bzero(...) \
    (__builtin_is_constant_evaluated() ? __builtin_bzero(__VA_ARGS__) : __witness_bzero(__VA_ARGS__))
#define __builtin_memcmp(...) \
    (__builtin_is_constant_evaluated() ? __builtin_memcmp(__VA_ARGS__) : __witness_memcmp(__VA_ARGS__))
#define __builtin_memcpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_memcpy(__VA_ARGS__) : __witness_memcpy(__VA_ARGS__))
#define __builtin_memmove(...) \
    (__builtin_is_constant_evaluated() ? __builtin_memmove(__VA_ARGS__) : __witness_memmove(__VA_ARGS__))
#define __builtin_mempcpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_mempcpy(__VA_ARGS__) : __witness_mempcpy(__VA_ARGS__))
#define __builtin_memset(...) \
    (__builtin_is_constant_evaluated() ? __builtin_memset(__VA_ARGS__) : __witness_memset(__VA_ARGS__))
#define __builtin_stpcpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_stpcpy(__VA_ARGS__) : __witness_stpcpy(__VA_ARGS__))
#define __builtin_stpncpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_stpncpy(__VA_ARGS__) : __witness_stpncpy(__VA_ARGS__))
#define __builtin_strcat(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strcat(__VA_ARGS__) : __witness_strcat(__VA_ARGS__))
#define __builtin_strcmp(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strcmp(__VA_ARGS__) : __witness_strcmp(__VA_ARGS__))
#define __builtin_strcpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strcpy(__VA_ARGS__) : __witness_strcpy(__VA_ARGS__))
#define __builtin_strncat(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strncat(__VA_ARGS__) : __witness_strncat(__VA_ARGS__))
#define __builtin_strncmp(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strncmp(__VA_ARGS__) : __witness_strncmp(__VA_ARGS__))
#define __builtin_strncpy(...) \
    (__builtin_is_constant_evaluated() ? __builtin_strncpy(__VA_ARGS__) : __witness_strncpy(__VA_ARGS__))
#else
#define __builtin_bcopy __witness_bcopy
#define __builtin_bzero __witness_bzero
#define __builtin_memcpy __witness_memcpy
#define __builtin_memmove __witness_memmove
#define __builtin_mempcpy __witness_mempcpy
#define __builtin_memset __witness_memset
#define __builtin_stpcpy __witness_stpcpy
#define __builtin_stpncpy __witness_stpncpy
#define __builtin_strcat __witness_strcat
#define __builtin_strcpy __witness_strcpy
#define __builtin_strncat __witness_strncat
#define __builtin_strncpy __witness_strncpy
/* What is compared may be constant, and so may have to be the result. */
#define __builtin_bcmp(...) \
    (__builtin_constant_p(__builtin_bcmp(__VA_ARGS__)) ? __builtin_bcmp(__VA_ARGS__) : __witness_bcmp(__VA_ARGS__))
#define __builtin_memcmp(...) \
    (__builtin_constant_p(__builtin_memcmp(__VA_ARGS__)) ? __builtin_memcmp(__VA_ARGS__) : __witness_memcmp(__VA_ARGS__))
#define __builtin_strcmp(...) \
    (__builtin_constant_p(__builtin_strcmp(__VA_ARGS__)) ? __builtin_strcmp(__VA_ARGS__) : __witness_strcmp(__VA_ARGS__))
#define __builtin_strncmp(...) \
    (__builtin_constant_p(__builtin_strncmp(__VA_ARGS__)) ? __builtin_strncmp(__VA_ARGS__) : __witness_strncmp(__VA_ARGS__))
#endif
#endif
