/* Pages that a handler fills when they are first used, and others that it unlocks when they are first written. The
   handler has accesses and locks of its own. The program writes down each byte of these pages, and of what the handler
   notes, that it reads or writes, in order: one line a byte, with its address and value. The test compares the trace. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 700
#define BY_HAND __attribute__((no_sanitize("thread"), noinline))

/* lazy: filled when touched; watched: unlocked when written; noted: what the handler writes down; other: what not. */
static unsigned char *lazy, *watched;
static uint64_t noted[64], other[64];
static int next_lazy, next_watched, faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf out;
static int leave;

/* The log, which nobody records. */
struct line { char kind; unsigned char *at; unsigned char value; };
static struct line *lines;
static int count;

BY_HAND static void say(char kind, const volatile void *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        struct line *line = &lines[count++];
        line->kind = kind;
        line->at = (unsigned char *)at + i;
        line->value = line->at[0];
    }
}

BY_HAND static void print_log(const char *path)
{
    FILE *file = fopen(path, "w");
    fprintf(file, "area %lx %lx\n", (unsigned long)lazy, (unsigned long)(lazy + PAGES * PAGE));
    fprintf(file, "area %lx %lx\n", (unsigned long)watched, (unsigned long)(watched + PAGES * PAGE));
    fprintf(file, "area %lx %lx\n", (unsigned long)noted, (unsigned long)(noted + 64));
    for (int i = 0; i < count; i++)
        fprintf(file, "%c %lx %x\n", lines[i].kind, (unsigned long)lines[i].at, lines[i].value);
    fclose(file);
}

BY_HAND static void fill(unsigned char *page)
{
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < PAGE; i++)
        page[i] = (unsigned char)(i * 7 + (uintptr_t)page / PAGE * 13 + 1);
}

static void handler(int number, siginfo_t *info, void *context)
{
    unsigned char *page = (unsigned char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    int in_lazy = page >= lazy && page < lazy + PAGES * PAGE;
    if (!in_lazy && !(page >= watched && page < watched + PAGES * PAGE))
        _exit(3);
    faults++;
    /* Many accesses at few places of code, and of several kinds. */
    for (int i = 0; i < 1 + faults % 12; i++) {
        uint64_t *slot = &noted[(faults + i) & 63];
        uint64_t before = *slot;
        say('r', slot, 8);
        *slot = before + i + faults;
        say('w', slot, 8);
    }
    if (faults % 5 == 0) {
        pthread_mutex_lock(&lock);
        __atomic_fetch_add(&other[1], 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        other[2] = other[1];
    } else {
        uint16_t *slot = (uint16_t *)((char *)other + faults % 500);
        *slot += 3;
    }
    if (leave) {
        leave = 0;
        fill(page);
        siglongjmp(out, 1);
    }
    if (in_lazy)
        fill(page);
    else
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static unsigned char *fresh(void) { return lazy + PAGE * (size_t)next_lazy++; }
static unsigned char *locked(void) { return watched + PAGE * (size_t)next_watched++; }

static uint64_t shared[16];

static void *beside(void *unused)
{
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&lock);
        shared[i & 15] += i;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static unsigned char *map(int protection)
{
    return mmap(0, PAGES * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static pthread_t thread;

static void set_up(void)
{
    lines = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    lazy = map(PROT_NONE);
    watched = map(PROT_READ);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, 0);
    pthread_create(&thread, 0, beside, 0);
}

static int end(const char *path)
{
    pthread_join(thread, 0);
    if (next_lazy > PAGES || next_watched > PAGES)
        return 5;
    print_log(path);
    return 0;
}
