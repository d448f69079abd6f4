// Single characters through streams hand data over, and so do a stream's lock, a descriptor's position, and bytes that the kernel
// copies from file to file. The buffers and the functions' own locks order nothing: both threads print.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *sender[2], *receiver[2], *locked, *output;
static int shared, from, to, filled[2], spliced[2];
static int by_getc, by_unlocked, by_lock, by_position, by_copy, by_splice, late;

static int temporary(void) {
    char path[] = "/tmp/witness-stream.XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    return file;
}

static void add_with_lock(void) {
    flockfile(locked);
    flockfile(locked);
    by_lock++; /* @with_lock */
    putc_unlocked('x', locked);
    funlockfile(locked);
    funlockfile(locked);
}

static void *reader(void *unused) {
    fputc('r', output);
    late++; /* @late_reader */
    char byte;
    getc(receiver[0]);
    int sum = by_getc; /* @read_getc */
    getc_unlocked(receiver[1]);
    sum += by_unlocked; /* @read_unlocked */
    while (lseek(shared, 0, SEEK_CUR) != 7) sched_yield();
    sum += by_position; /* @read_position */
    while (pread(to, &byte, 1, 0) != 1) sched_yield();
    sum += by_copy; /* @read_copy */
    read(spliced[0], &byte, 1);
    sum += by_splice; /* @read_splice */
    add_with_lock();
    return sum == 5 ? unused : &late;
}

int main(void) {
    for (int i = 0; i < 2; i++) {
        int ends[2];
        pipe(ends);
        receiver[i] = fdopen(ends[0], "r");
        sender[i] = fdopen(ends[1], "w");
    }
    locked = fdopen(temporary(), "w");
    output = fdopen(temporary(), "w");
    shared = temporary();
    from = temporary();
    to = temporary();
    pwrite(from, "x", 1, 0);
    pipe(filled);
    pipe(spliced);
    write(filled[1], "x", 1);
    pthread_t t;
    pthread_create(&t, NULL, reader, NULL);
    fputc('m', output);
    late++; /* @late_main */
    by_getc = 1; /* @write_getc */
    putc('x', sender[0]);
    fflush(sender[0]);
    by_unlocked = 1; /* @write_unlocked */
    fputc_unlocked('x', sender[1]);
    fflush(sender[1]);
    by_position = 1; /* @write_position */
    lseek(shared, 7, SEEK_SET);
    by_copy = 1; /* @write_copy */
    if (copy_file_range(from, NULL, to, NULL, 1, 0) != 1) pwrite(to, "x", 1, 0);
    by_splice = 1; /* @write_splice */
    splice(filled[0], NULL, spliced[1], NULL, 1, 0);
    add_with_lock();
    pthread_join(t, NULL);
    return by_lock != 2;
}
