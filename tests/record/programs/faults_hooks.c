/* Each hook that the runtime offers for an access, called by its name, on the pages of faults.h: what one compiler
   makes of a program needs few of them. */
#include "faults.h"
#include <dlfcn.h>

typedef unsigned __int128 wide;

BY_HAND static void say_as(char kind, const volatile void *at, const void *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        lines[count++] = (struct line){kind, (unsigned char *)at + i, ((const unsigned char *)value)[i]};
}

BY_HAND static void store(unsigned char *at, size_t size)
{
    unsigned char value[16];
    for (size_t i = 0; i < sizeof value; i++)
        value[i] = (unsigned char)(count + 3 * i + 1);
    switch (size) {
    case 1: *at = value[0]; break;
    case 2: *(uint16_t __attribute__((may_alias, aligned(1))) *)at = *(uint16_t *)value; break;
    case 4: *(uint32_t __attribute__((may_alias, aligned(1))) *)at = *(uint32_t *)value; break;
    case 8: *(uint64_t __attribute__((may_alias, aligned(1))) *)at = *(uint64_t *)value; break;
    default:
        for (size_t i = 0; i < size; i++)
            at[i] = (unsigned char)(count + 3 * i + 1);
    }
}

static unsigned char *place(int writable, size_t offset, size_t size)
{
    unsigned char *at = (writable ? locked() : fresh()) + offset;
    for (size_t more = PAGE; offset + size > more; more += PAGE)
        (void)(writable ? locked() : fresh());
    return at;
}

struct hook { const char *name; char kind; size_t size; int aligned; };

#define ALIGNED(X, n) \
    X(__tsan_read##n, 'r', n, 1) X(__tsan_write##n, 'w', n, 1) X(__tsan_read_write##n, 'b', n, 1) \
    X(__tsan_volatile_read##n, 'r', n, 1) X(__tsan_volatile_write##n, 'w', n, 1) \
    X(__tsan_read##n##_pc, 'r', n, 1) X(__tsan_write##n##_pc, 'w', n, 1)
#define UNALIGNED(X, n) \
    X(__tsan_unaligned_read##n, 'r', n, 0) X(__tsan_unaligned_write##n, 'w', n, 0) \
    X(__tsan_unaligned_read_write##n, 'b', n, 0) X(__tsan_unaligned_volatile_read##n, 'r', n, 0) \
    X(__tsan_unaligned_volatile_write##n, 'w', n, 0)
#define HOOKS(X) \
    ALIGNED(X, 1) ALIGNED(X, 2) ALIGNED(X, 4) ALIGNED(X, 8) ALIGNED(X, 16) \
    UNALIGNED(X, 2) UNALIGNED(X, 4) UNALIGNED(X, 8) UNALIGNED(X, 16)

#define ROW(name, kind, size, aligned) {#name, kind, size, aligned},
static const struct hook hooks[] = {HOOKS(ROW)};

/* Looked up when the program runs: the compiler's own runtime, which programs are linked with, lacks some of them. */
static void *runtimes(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        _exit(7);
    return found;
}

BY_HAND static void access_at(const struct hook *hook, unsigned char *at)
{
    ((void (*)(void *, void *))runtimes(hook->name))(at, (void *)access_at);
    if (hook->kind != 'w')
        say('r', at, hook->size);
    if (hook->kind != 'r') {
        store(at, hook->size);
        say('w', at, hook->size);
    }
}

static void accesses(void)
{
    static const size_t offsets[] = {0, 4080, 3, 4093};
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
        for (int j = 0; j < (hooks[i].aligned ? 2 : 4); j++) {
            access_at(&hooks[i], place(0, offsets[j], hooks[i].size));
            if (hooks[i].kind != 'r')
                access_at(&hooks[i], place(1, offsets[j], hooks[i].size));
        }
}

extern void read_range(void *, unsigned long) __asm__("__tsan_read_range");
extern void write_range(void *, unsigned long) __asm__("__tsan_write_range");
extern void read_range_pc(void *, unsigned long, void *) __asm__("__tsan_read_range_pc");
extern void write_range_pc(void *, unsigned long, void *) __asm__("__tsan_write_range_pc");

BY_HAND static void ranges(void)
{
    static const size_t sizes[] = {1, 3, 8, 13, 40, 100, 4096};
    for (int i = 0; i < 7; i++)
        for (size_t offset = 0; offset < PAGE; offset += 4093) {
            unsigned char *at = place(0, offset, sizes[i]);
            i & 1 ? read_range(at, sizes[i]) : read_range_pc(at, sizes[i], (void *)ranges);
            say('r', at, sizes[i]);
            for (int writable = 0; writable < 2; writable++) {
                at = place(writable, offset, sizes[i]);
                i & 1 ? write_range(at, sizes[i]) : write_range_pc(at, sizes[i], (void *)ranges);
                store(at, sizes[i]);
                say('w', at, sizes[i]);
            }
        }
}

extern void vptr_read(void **) __asm__("__tsan_vptr_read");
extern void vptr_update(void **, void *) __asm__("__tsan_vptr_update");

BY_HAND static void tables(void)
{
    for (size_t offset = 0; offset < PAGE; offset += 2040) {
        unsigned char *at = place(0, offset, 8);
        vptr_read((void **)at);
        say('r', at, 8);
        for (int writable = 0; writable < 2; writable++) {
            at = place(writable, offset, 8);
            unsigned char value[8];
            for (int i = 0; i < 8; i++)
                value[i] = (unsigned char)(count + 3 * i + 1);
            vptr_update((void **)at, *(void **)value);
            store(at, 8);
            say('w', at, 8);
        }
    }
}

#define UNALIGNED_CALLS(bits) \
    extern uint##bits##_t load##bits(const void *) __asm__("__sanitizer_unaligned_load" #bits); \
    extern void store##bits(void *, uint##bits##_t) __asm__("__sanitizer_unaligned_store" #bits); \
    BY_HAND static void calls##bits(size_t offset) \
    { \
        unsigned char *at = place(0, offset, bits / 8); \
        load##bits(at); \
        say('r', at, bits / 8); \
        for (int writable = 0; writable < 2; writable++) { \
            at = place(writable, offset, bits / 8); \
            store##bits(at, (uint##bits##_t)(count * 0x1234567)); \
            say('w', at, bits / 8); \
        } \
    }
UNALIGNED_CALLS(16)
UNALIGNED_CALLS(32)
UNALIGNED_CALLS(64)

/* All reads come before all writes, and what the writes raise comes between: then the reads are written down before. */
BY_HAND static void read_before_write(const volatile unsigned char *from, size_t size, int raises)
{
    if (!raises)
        return;
    (void)from[0];
    (void)from[size - 1];
    say('r', from, size);
}

BY_HAND static void calls(void)
{
    void *(*copy)(void *, const void *, unsigned long) = runtimes("__tsan_memcpy");
    void *(*move)(void *, const void *, unsigned long) = runtimes("__tsan_memmove");
    void *(*set)(void *, int, unsigned long) = runtimes("__tsan_memset");
    for (size_t offset = 0; offset < PAGE; offset += 4095) {
        calls16(offset);
        calls32(offset);
        calls64(offset);
        for (int writable = 0; writable < 2; writable++) {
            unsigned char *from = place(0, offset, 50), *to = place(writable, offset, 50);
            read_before_write(from, 50, writable);
            copy(to, from, 50);
            if (!writable)
                say('r', from, 50);
            say('w', to, 50);
            from = place(0, offset, 50);
            to = place(writable, offset, 50);
            read_before_write(from, 50, writable);
            move(to, from, 50);
            if (!writable)
                say('r', from, 50);
            say('w', to, 50);
            to = place(writable, offset, 50);
            set(to, 0x40 + writable, 50);
            say('w', to, 50);
        }
    }
}

/* The trace has accesses of at most 8 bytes: of one of 16, each half is told by itself. */
BY_HAND static void say_both(unsigned char *at, const void *before, const void *after, size_t size)
{
    size_t part = size < 8 ? size : 8;
    for (size_t i = 0; i < size; i += part) {
        say_as('r', at + i, (const char *)before + i, part);
        say_as('w', at + i, (const char *)after + i, part);
    }
}

#define CHANGE(type, bits, name, formula) \
    extern type name##bits(volatile type *, type, int) __asm__("__tsan_atomic" #bits "_" #name); \
    BY_HAND static void try_##name##bits(size_t offset) \
    { \
        for (int writable = 0; writable < 2; writable++) { \
            type *at = (type *)place(writable, offset, sizeof(type)); \
            type by = (type)(count + 5) * (type)0x9e3779b97f4a7c15; \
            type before = name##bits(at, by, __ATOMIC_SEQ_CST); \
            type after = (formula); \
            say_both((unsigned char *)at, &before, &after, sizeof(type)); \
        } \
    }
#define EXCHANGE(type, bits, name) \
    extern int name##bits(volatile type *, type *, type, int, int) __asm__("__tsan_atomic" #bits "_" #name); \
    BY_HAND static void try_##name##bits(size_t offset) \
    { \
        for (int writable = 0; writable < 2; writable++) { \
            type *at = (type *)place(writable, offset, sizeof(type)); \
            type wrong = (type)0x5555, right, after = (type)(count + 7); \
            if (name##bits(at, &wrong, after, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) { \
                /* It was right by chance. */ \
                say_both((unsigned char *)at, &wrong, &after, sizeof(type)); \
                continue; \
            } \
            say('r', at, sizeof(type)); \
            right = wrong; \
            while (!name##bits(at, &right, after, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) \
                say('r', at, sizeof(type)); \
            say_both((unsigned char *)at, &wrong, &after, sizeof(type)); \
        } \
    }
#define ATOMICS(type, bits) \
    CHANGE(type, bits, exchange, by) CHANGE(type, bits, fetch_add, before + by) \
    CHANGE(type, bits, fetch_sub, before - by) CHANGE(type, bits, fetch_and, before & by) \
    CHANGE(type, bits, fetch_or, before | by) CHANGE(type, bits, fetch_xor, before ^ by) \
    CHANGE(type, bits, fetch_nand, ~(before & by)) \
    EXCHANGE(type, bits, compare_exchange_strong) EXCHANGE(type, bits, compare_exchange_weak) \
    extern type load_##bits(const volatile type *, int) __asm__("__tsan_atomic" #bits "_load"); \
    extern void store_##bits(volatile type *, type, int) __asm__("__tsan_atomic" #bits "_store"); \
    extern type value_##bits(volatile type *, type, type, int, int) \
        __asm__("__tsan_atomic" #bits "_compare_exchange_val"); \
    BY_HAND static void atomics##bits(size_t offset) \
    { \
        try_exchange##bits(offset); \
        try_fetch_add##bits(offset); \
        try_fetch_sub##bits(offset); \
        try_fetch_and##bits(offset); \
        try_fetch_or##bits(offset); \
        try_fetch_xor##bits(offset); \
        try_fetch_nand##bits(offset); \
        try_compare_exchange_strong##bits(offset); \
        try_compare_exchange_weak##bits(offset); \
        for (int writable = 0; writable < 2; writable++) { \
            type *at = (type *)place(writable, offset, sizeof(type)); \
            /* A load of 16 bytes needs memory that may be written. */ \
            load_##bits(at, __ATOMIC_ACQUIRE); \
            say('r', at, sizeof(type)); \
            at = (type *)place(writable, offset, sizeof(type)); \
            type before = value_##bits(at, (type)0x5555, (type)0x5555, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED), after = 9; \
            if (before == (type)0x5555) \
                say_both((unsigned char *)at, &before, &before, sizeof(type)); \
            else \
                say('r', at, sizeof(type)); \
            value_##bits(at, before, after, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); \
            say_both((unsigned char *)at, &before, &after, sizeof(type)); \
            type value = (type)count; \
            store_##bits(at, value, __ATOMIC_RELEASE); \
            if (sizeof(type) > 8) \
                say_both((unsigned char *)at, &after, &value, sizeof(type)); \
            else \
                say('w', at, sizeof(type)); \
            at = (type *)place(writable, offset, sizeof(type)); \
            if (sizeof(type) <= 8) { \
                store_##bits(at, value, __ATOMIC_RELEASE); \
                say('w', at, sizeof(type)); \
            } \
        } \
    }
ATOMICS(uint8_t, 8)
ATOMICS(uint16_t, 16)
ATOMICS(uint32_t, 32)
ATOMICS(uint64_t, 64)
ATOMICS(wide, 128)

int main(int argc, char **argv)
{
    set_up();
    accesses();
    ranges();
    tables();
    calls();
    for (size_t offset = 0; offset < PAGE; offset += 4080) {
        atomics8(offset);
        atomics16(offset);
        atomics32(offset);
        atomics64(offset);
        atomics128(offset);
    }
    return end(argv[1]);
}
