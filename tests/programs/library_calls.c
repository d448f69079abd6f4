/* Accesses that functions of libc make for their caller, each beside an access of main: the handle that pthread_create stores,
 * what sscanf and read store, and the block that realloc copies and frees.
 *
 * Live, the thread stands before the call: later, the memory would have changed already. The block's size is not one that
 * malloc rounds to: what lies behind it is nobody's, and no realloc reads it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t handle;
static int number;
static char *block;
static char arrived[8];
static int ends[2];

static void *nothing(void *unused)
{
    return unused;
}

static void *calls(void *unused)
{
    sscanf("a 42", "%*s %d", &number); /* @scans */
    if (read(ends[0], arrived, 6) != 6) /* @reads */
        return NULL;
    block = realloc(block, 4000); /* @reallocates */
    pthread_create(&handle, NULL, nothing, NULL); /* @creates */
    return unused;
}

int main(void)
{
    pthread_t t;
    char *shared = block = malloc(13);
    if (pipe(ends) != 0 || write(ends[1], "abcdef", 6) != 6)
        return 1;
    pthread_create(&t, NULL, calls, NULL);
    int seen = number; /* @number */
    seen += arrived[5]; /* @arrived */
    shared[12] = 1; /* @shared */
    seen += handle != 0; /* @handle */
    (void)seen;
    pthread_join(t, NULL);
    free(block);
    return 0;
}
