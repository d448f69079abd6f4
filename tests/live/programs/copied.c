/* A structure on a thread's stack has a part that is copied before it is set: the copy has what the argument says. */
#include <pthread.h>

struct token {
    long number, part;
};

static long argument;
static int shared;

/* Stands for a register that nothing was put into. */
__attribute__((noinline, no_sanitize("thread"))) static long left_over(void)
{
    return argument;
}

__attribute__((noinline, no_sanitize("thread"))) static void set(const char *text)
{
    argument = text[0];
}

__attribute__((noinline)) static long take(const struct token *token)
{
    struct token copy = *token; /* @read */
    __asm__ volatile("" : : "r"(&copy) : "memory");
    return copy.number;
}

static void *work(void *unused)
{
    struct token token = {1, left_over()};
    __asm__ volatile("" : : "r"(&token) : "memory");
    if (take(&token) == 1)
        shared++;
    return unused;
}

int main(int count, char **arguments)
{
    set(count > 1 ? arguments[1] : "0");
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
