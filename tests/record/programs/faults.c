/* What compilers make of accesses, loops, copies and calls, on the pages of faults.h. */
#include "faults.h"

#define PLAIN(type, name) \
    struct name { type value; } __attribute__((packed)); \
    __attribute__((noinline)) static type read_##name(unsigned char *at) { return ((volatile struct name *)at)->value; } \
    __attribute__((noinline)) static void write_##name(unsigned char *at, type value) { ((volatile struct name *)at)->value = value; } \
    static void try_##name(size_t offset) \
    { \
        unsigned char *at = fresh() + offset; \
        if (offset + sizeof(type) > PAGE) next_lazy++; \
        read_##name(at); say('r', at, sizeof(type)); \
        read_##name(at); say('r', at, sizeof(type)); \
        at = locked() + offset; \
        if (offset + sizeof(type) > PAGE) next_watched++; \
        write_##name(at, (type)(offset * 77 + faults)); say('w', at, sizeof(type)); \
        write_##name(at, (type)(offset * 76 + faults)); say('w', at, sizeof(type)); \
        at = fresh() + offset; \
        if (offset + sizeof(type) > PAGE) next_lazy++; \
        write_##name(at, (type)(offset * 75 + faults)); say('w', at, sizeof(type)); \
    }
PLAIN(uint8_t, byte)
PLAIN(uint16_t, half)
PLAIN(uint32_t, word)
PLAIN(uint64_t, giant)
PLAIN(__int128, huge)

/* Loops, in which every event is predicted until one is not. */
static void loops(void)
{
    unsigned char *at = fresh();
    next_lazy += 7;
    for (int i = 0; i < 8 * PAGE / 64; i++) {
        volatile uint64_t *word = (volatile uint64_t *)(at + i * 64);
        uint64_t value = *word;
        say('r', word, 8);
    }
    at = locked();
    next_watched += 7;
    for (int i = 0; i < 8 * PAGE / 64; i++) {
        volatile uint64_t *word = (volatile uint64_t *)(at + i * 64);
        *word = i;
        say('w', word, 8);
        uint64_t now = *word;
        say('r', word, 8);
        *word = now + 3;
        say('w', word, 8);
    }
}

struct big { uint64_t part[5]; };

static void ranges(void)
{
    for (int offset = 0; offset <= 4040; offset += 1340) {
        struct big *from = (struct big *)(fresh() + offset), *to = (struct big *)(locked() + offset), here;
        next_lazy++;
        next_watched++;
        here = *from;
        say('r', from, sizeof here);
        *to = here;
        say('w', to, sizeof here);
        /* Both sides at once, both out of reach. */
        from = (struct big *)(fresh() + offset);
        next_lazy++;
        to = (struct big *)(fresh() + offset);
        next_lazy++;
        *to = *from;
        say('r', from, sizeof here);
        say('w', to, sizeof here);
        uint32_t *one = (uint32_t *)from, *two = (uint32_t *)(fresh() + offset);
        say('r', one, 4);
        *two = *one;
        say('w', two, 4);
        /* Read, then stopped at the write. */
        to = (struct big *)(locked() + offset);
        next_watched++;
        say('r', from, sizeof here);
        *to = *from;
        say('w', to, sizeof here);
        two = (uint32_t *)(locked() + offset);
        say('r', one, 4);
        *two = *one;
        say('w', two, 4);
    }
}

static void calls(void)
{
    for (int offset = 3; offset < PAGE; offset += 1000) {
        unsigned char *from = fresh() + offset, *to = locked() + offset;
        next_lazy += 2;
        next_watched += 2;
        unsigned char *hole = fresh() + offset;
        next_lazy += 2;
        memcpy(hole, from, 5000);
        say('r', from, 5000);
        say('w', hole, 5000);
        say('r', from, 5000);
        memcpy(to, from, 5000);
        say('w', to, 5000);
        from = fresh() + offset;
        next_lazy += 1;
        to = fresh() + offset;
        next_lazy += 1;
        memmove(to, from, 4096);
        say('r', from, 4096);
        say('w', to, 4096);
        from = locked() + offset;
        next_watched += 2;
        memset(from, 9, 4200);
        say('w', from, 4200);
        /* A string across pages, found by a function that reads ahead. */
        unsigned char *text = fresh();
        next_lazy += 1;
        size_t length = strlen((char *)text + offset);
        say('r', text + offset, length + 1);
        unsigned char *copy = locked() + offset;
        next_watched++;
        /* All reads come before all writes, and what the writes raise comes between. */
        say('r', text + offset, length + 1);
        strcpy((char *)copy, (char *)text + offset);
        say('w', copy, length + 1);
    }
}

static void atomics(void)
{
    uint64_t *at = (uint64_t *)(fresh() + 16);
    __atomic_load_n(at, __ATOMIC_ACQUIRE);
    say('r', at, 8);
    at = (uint64_t *)(locked() + 16);
    __atomic_store_n(at, 5, __ATOMIC_RELEASE);
    say('w', at, 8);
    uint32_t *half = (uint32_t *)(locked() + 20);
    __atomic_fetch_add(half, 9, __ATOMIC_SEQ_CST);
    /* It was zero. */
    say('r', half, 4);
    lines[count - 4].value = 0;
    say('w', half, 4);
    uint16_t *small = (uint16_t *)(fresh() + 30), expected = 0;
    __atomic_compare_exchange_n(small, &expected, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    say('r', small, 2);
}

/* A probe: the handler does not come back. */
static void leaves(void)
{
    for (int i = 0; i < 20; i++) {
        volatile uint32_t *at = (volatile uint32_t *)((i & 1 ? fresh() : locked()) + 4 * i);
        leave = 1;
        if (sigsetjmp(out, 1) == 0) {
            if (i & 1)
                (void)*at;
            else
                *at = 7;
            _exit(4);
        }
        uint32_t now = *at;
        say('r', at, 4);
    }
}

int main(int argc, char **argv)
{
    set_up();
    for (int round = 0; round < 3; round++) {
        size_t offsets[] = {0, 8, 1, 3, 4, 7, 61, 4090, 4093, 4095, 16, 24};
        for (int i = 0; i < 12; i++) {
            try_byte(offsets[i]);
            try_half(offsets[i]);
            try_word(offsets[i]);
            try_giant(offsets[i]);
            if (offsets[i] % 16 == 0 || offsets[i] == 3)
                try_huge(offsets[i]);
        }
        loops();
        ranges();
        calls();
        atomics();
        leaves();
    }
    return end(argv[1]);
}
