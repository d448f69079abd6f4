/* Structures that are passed and returned by value: gcc records none of these accesses. Where nobody else can see them,
 * that is no matter. */
#include <pthread.h>
#include <stdlib.h>

struct pair {
    long first, second;
};

struct table {
    long entries[6];
};

static struct pair pair;
static struct table table, *there = &table;

__attribute__((noipa)) static struct pair make_pair(long from)
{
    return (struct pair){from, from + 1};
}

__attribute__((noipa)) static struct table make_table(long from)
{
    return (struct table){{from}};
}

__attribute__((noipa)) static struct table same_table(long from)
{
    return make_table(from);
}

__attribute__((noipa)) static long sum_of_pair(struct pair of)
{
    return of.first + of.second;
}

__attribute__((noipa)) static long sum_of_table(struct table of)
{
    return of.entries[0] + of.entries[5];
}

__attribute__((noipa)) static void set_pair(long from)
{
    pair = make_pair(from);
}

__attribute__((noipa)) static long get_pair(void)
{
    return sum_of_pair(pair);
}

__attribute__((noipa)) static void set_table(struct table *to, long from)
{
    *to = same_table(from);
}

__attribute__((noipa)) static long get_table(struct table *of)
{
    return sum_of_table(*of);
}

__attribute__((noipa)) static long use_own(long from)
{
    struct pair own_pair = make_pair(from), *handed_out = malloc(sizeof *handed_out);
    struct table own_table = same_table(from), *to_own = from < 0 ? 0 : &own_table;
    *handed_out = make_pair(from);
    long sum = sum_of_pair(own_pair) + sum_of_pair(*handed_out) + sum_of_table(*to_own);
    free(handed_out);
    return sum;
}

static void *work(void *unused)
{
    set_pair(1);
    set_table(there, 1);
    return use_own(1) < 0 ? &pair : unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    long sum = get_pair() + get_table(there) + use_own(2);
    pthread_join(thread, 0);
    return sum < 0;
}
