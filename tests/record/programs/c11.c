// C11 threads: results, a mutex, a condition, once-only initialization.
#include <threads.h>

static mtx_t m;
static cnd_t changed;
static once_flag flag = ONCE_FLAG_INIT;
static int turn, counter, set;

static void initialize(void) { set++; }

static int work(void *self) {
    int me = *(int *)self;
    call_once(&flag, initialize);
    for (int i = 0; i < 20; i++) {
        mtx_lock(&m);
        while (turn != me) cnd_wait(&changed, &m);
        counter++;
        turn = !me;
        cnd_signal(&changed);
        mtx_unlock(&m);
    }
    return 10 + me;
}

int main(void) {
    static thrd_t t[2];
    static int names[2] = {0, 1}, results[2];
    mtx_init(&m, mtx_plain);
    cnd_init(&changed);
    for (int i = 0; i < 2; i++) if (thrd_create(&t[i], work, &names[i]) != thrd_success) return 1;
    for (int i = 0; i < 2; i++) if (thrd_join(t[i], &results[i]) != thrd_success) return 2;
    return counter == 40 && set == 1 && results[0] == 10 && results[1] == 11 ? 0 : 3;
}
