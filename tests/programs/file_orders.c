// What one thread writes before it writes to a file, another may read after it has found that in the file; by calls on descriptors, by
// streams, by the length that the system tells, or by locks of open files; and through streams over a pipe. Lines that both
// write to a log order nothing.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file, length, locked[2], pipes[2][2], log_file;
static FILE *stream, *lines, *sender, *receiver;
static int by_file, by_stream, by_length, by_lock, by_sender, by_receiver, late;

static int temporary(char *path) {
    strcpy(path, "/tmp/witness-file.XXXXXX");
    return mkstemp(path);
}

static void lock(int number, int kind) {
    struct flock whole = {.l_type = kind, .l_whence = SEEK_SET};
    fcntl(locked[number], F_OFD_SETLKW, &whole);
}

static void *reader(void *unused) {
    char byte, line[8];
    struct stat about = {0};
    write(log_file, "r", 1);
    late++; /* @late_reader */
    while (pread(file, &byte, 1, 0) == 0) sched_yield();
    int sum = by_file; /* @read_file */
    while (fgets(line, sizeof line, lines) == NULL) {
        clearerr(lines);
        sched_yield();
    }
    sum += by_stream; /* @read_stream */
    while (about.st_size == 0) {
        fstat(length, &about);
        sched_yield();
    }
    sum += by_length; /* @read_length */
    lock(1, F_WRLCK);
    by_lock++; /* @lock_reader */
    lock(1, F_UNLCK);
    read(pipes[0][0], &byte, 1);
    sum += by_sender; /* @read_sender */
    fgets(line, sizeof line, receiver);
    sum += by_receiver; /* @read_receiver */
    return sum == 5 ? unused : &late;
}

int main(void) {
    pthread_t t;
    char path[64], locked_path[64], log_path[64];
    file = temporary(path);
    unlink(path);
    length = temporary(path);
    unlink(path);
    log_file = temporary(log_path);
    unlink(log_path);
    locked[0] = temporary(locked_path);
    locked[1] = open(locked_path, O_RDWR);
    unlink(locked_path);
    stream = fdopen(temporary(path), "w");
    lines = fopen(path, "r");
    unlink(path);
    pipe(pipes[0]);
    pipe(pipes[1]);
    sender = fdopen(pipes[0][1], "w");
    receiver = fdopen(pipes[1][0], "r");
    pthread_create(&t, NULL, reader, NULL);
    write(log_file, "m", 1);
    late++; /* @late_main */
    by_file = 1; /* @write_file */
    write(file, "x", 1);
    by_stream = 1; /* @write_stream */
    fputs("x\n", stream);
    fflush(stream);
    by_length = 1; /* @write_length */
    ftruncate(length, 1);
    lock(0, F_WRLCK);
    by_lock++; /* @lock_main */
    lock(0, F_UNLCK);
    fputs("x", sender);
    by_sender = 1; /* @write_sender */
    fclose(sender);
    by_receiver = 1; /* @write_receiver */
    write(pipes[1][1], "x\n", 2);
    pthread_join(t, NULL);
    return 0;
}
