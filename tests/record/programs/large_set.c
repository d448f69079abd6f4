/* select() on descriptors beyond FD_SETSIZE, in a set that is longer than the type: the kernel takes as many as it is told. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

enum { BEYOND = FD_SETSIZE + 300, BITS = 8 * sizeof(unsigned long) };

static void check(int ok) {
    if (!ok)
        abort();
}

int main(void) {
    struct rlimit most;
    check(getrlimit(RLIMIT_NOFILE, &most) == 0 && most.rlim_max > BEYOND);
    most.rlim_cur = most.rlim_max;
    check(setrlimit(RLIMIT_NOFILE, &most) == 0);
    int ends[2];
    check(pipe(ends) == 0 && dup2(ends[0], BEYOND) == BEYOND);
    check(write(ends[1], "x", 1) == 1);
    unsigned long set[BEYOND / BITS + 1];
    memset(set, 0, sizeof set);
    set[BEYOND / BITS] = 1ul << BEYOND % BITS;
    check(select(BEYOND + 1, (fd_set *)set, NULL, NULL, NULL) == 1);
    check(set[BEYOND / BITS] == 1ul << BEYOND % BITS);
    return 0;
}
