// Two threads give the address of a local variable to a function that only reads it, while the address of a variable of
// a deeper frame is kept elsewhere: what nobody recorded there would pin the function's reads.
#include <pthread.h>
#include <sched.h>

struct where {
    unsigned char kind;
    int number;
    char *text;
};

void *kept[2];
static long seen[2];

static __attribute__((noinline)) void look(const struct where *where, int self) {
    if (where->kind == 9)
        seen[self] += where->number;
}

/* A local variable of a deeper frame: what is kept lies below the one that is looked at. */
static __attribute__((noinline)) void keep(int self) {
    struct where other = {1, self, 0};
    kept[self] = &other;
    sched_yield();
}

static __attribute__((noinline)) void once(int self, int number) {
    struct where where = {9, number, 0};
    keep(self);
    look(&where, self);
}

static void *work(void *self) {
    for (int number = 1; number <= 20; number++)
        once((int)(long)self, number);
    return 0;
}

int main(void) {
    pthread_t threads[2];
    for (long self = 0; self < 2; self++)
        pthread_create(&threads[self], 0, work, (void *)self);
    for (int self = 0; self < 2; self++)
        pthread_join(threads[self], 0);
    return seen[0] != 210 || seen[1] != 210;
}
