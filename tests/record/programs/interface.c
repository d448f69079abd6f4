/* Calls what ThreadSanitizer's runtime exports beside the functions that compilers call.
 *
 * With an argument it calls what only that runtime has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern uint16_t __sanitizer_unaligned_load16(const void *);
extern uint32_t __sanitizer_unaligned_load32(const void *);
extern uint64_t __sanitizer_unaligned_load64(const void *);
extern void __sanitizer_unaligned_store16(void *, uint16_t);
extern void __sanitizer_unaligned_store32(void *, uint32_t);
extern void __sanitizer_unaligned_store64(void *, uint64_t);
extern size_t __sanitizer_get_allocated_size(const void *);
extern int __sanitizer_acquire_crash_state(void);
extern int __sanitizer_get_module_and_offset_for_pc(void *, char *, size_t, void **);
extern void __tsan_write16_pc(void *, void *);
extern void *__tsan_java_find(void **, void *);
extern ssize_t __interceptor_write(int, const void *, size_t);
extern void *__interceptor_malloc(size_t);
extern void __interceptor_free(void *);
extern int RunningOnValgrind(void);

/* The order in which the functions at the end came, in reverse. */
static int ended;

static void last(void)
{
    if (ended != 2)
        _exit(9);
}

static void second(int status, void *argument)
{
    if (ended++ != 1 || status != 0 || argument != &ended)
        _exit(8);
}

static void first(void)
{
    if (ended++ != 0)
        _exit(7);
}

static void *registers(void *unused)
{
    if (atexit(last) || on_exit(second, &ended) || atexit(first))
        exit(6);
    return unused;
}

__attribute__((no_sanitize("thread"), noinline)) static void fill(uint64_t *pair)
{
    pair[0] = pair[1] = 0x6162636465666768;
}

static int compares(int value)
{
    switch (value) {
    case 3:
        return 1;
    case 900:
        return 2;
    default:
        return value > 17;
    }
}

int main(int count, char **arguments)
{
    if (count > 1) {
        void *from = arguments;
        return __tsan_java_find(&from, arguments + 1) != 0;
    }
    pthread_t thread;
    pthread_create(&thread, 0, registers, 0);
    pthread_join(thread, 0);

    char bytes[24];
    __sanitizer_unaligned_store16(bytes + 1, 0x5152);
    __sanitizer_unaligned_store32(bytes + 3, 0x53545556);
    __sanitizer_unaligned_store64(bytes + 7, 0x5758595a5b5c5d5e);
    if (__sanitizer_unaligned_load16(bytes + 1) != 0x5152 || __sanitizer_unaligned_load32(bytes + 3) != 0x53545556 ||
        __sanitizer_unaligned_load64(bytes + 7) != 0x5758595a5b5c5d5e)
        return 1;

    static uint64_t pair[2] __attribute__((aligned(16)));
    __tsan_write16_pc(pair, (void *)main);
    fill(pair);

    char path[200];
    void *offset = 0;
    if (!__sanitizer_get_module_and_offset_for_pc((void *)main, path, sizeof path, &offset) ||
        !strstr(path, "interface") || !offset)
        return 2;
    void *block = __interceptor_malloc(100);
    if (!block || __sanitizer_get_allocated_size(block) < 100)
        return 3;
    __interceptor_free(block);
    int null = open("/dev/null", O_WRONLY);
    if (__interceptor_write(null, "x", 1) != 1)
        return 4;
    return compares(3) != 1 || compares(count) != 0 || !__sanitizer_acquire_crash_state() ||
           __sanitizer_acquire_crash_state() || RunningOnValgrind();
}
