/* Fibers: each is a thread of its own, and a switch orders what comes before it and what comes after, unless the program
 * says that it does not (flag 1).
 *
 * `ordered` is handed from fiber to fiber; `loose` is written by the last, and by a thread of the kernel's: the race.
 */
#include <pthread.h>
#include <ucontext.h>

extern void *__tsan_get_current_fiber(void);
extern void *__tsan_create_fiber(unsigned);
extern void __tsan_destroy_fiber(void *);
extern void __tsan_switch_to_fiber(void *, unsigned);
extern void __tsan_set_fiber_name(void *, const char *);

static ucontext_t main_context, contexts[2];
static void *main_fiber, *fibers[2];
static char stacks[2][1 << 16];
static int ordered, loose;

static void first(void)
{
    ordered++; /* @first */
    __tsan_switch_to_fiber(main_fiber, 0);
    swapcontext(&contexts[0], &main_context);
    __tsan_switch_to_fiber(main_fiber, 1);
    swapcontext(&contexts[0], &main_context);
}

static void second(void)
{
    ordered++; /* @second */
    __tsan_switch_to_fiber(main_fiber, 0);
    swapcontext(&contexts[1], &main_context);
    loose = 1; /* @loose */
    __tsan_switch_to_fiber(main_fiber, 1);
    swapcontext(&contexts[1], &main_context);
}

static void run(int which, unsigned flags)
{
    __tsan_switch_to_fiber(fibers[which], flags);
    swapcontext(&main_context, &contexts[which]);
}

static void *works(void *unused)
{
    main_fiber = __tsan_get_current_fiber();
    void (*functions[2])(void) = {first, second};
    for (int i = 0; i < 2; i++) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = sizeof stacks[i];
        makecontext(&contexts[i], functions[i], 0);
        fibers[i] = __tsan_create_fiber(0);
        __tsan_set_fiber_name(fibers[i], i ? "second" : "first");
    }
    run(0, 0);
    run(1, 0);
    run(0, 1);
    run(1, 1);
    for (int i = 0; i < 2; i++)
        __tsan_destroy_fiber(fibers[i]);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, works, 0);
    loose = 2; /* @looser */
    pthread_join(thread, 0);
    return ordered != 2;
}
