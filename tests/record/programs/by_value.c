/* Structures that are passed and returned by value, in every way that gcc does it, under a lock. Each that a thread gets
 * is one that somebody made: none is torn. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 20 };

struct one { unsigned char only; };
struct odd { unsigned char bytes[11]; };
struct pair { long first, second; };
struct numbers { double x; float y; };
struct mixed { long number; double x; };
struct extended { long double x; };
struct table { long entries[6]; };
struct large { long entries[40]; };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    long before;
    struct one one;
    struct odd odd;
    struct pair pair;
    struct numbers numbers;
    struct mixed mixed;
    struct extended extended;
    struct table table;
    struct large large;
} shared, *there = &shared;

#define SEEN_BY_NOBODY __attribute__((noipa)) static

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__))

static void fail(int line)
{
    printf("line %d\n", line);
    exit(1);
}

SEEN_BY_NOBODY struct one make_one(int n) { return (struct one){n}; }
SEEN_BY_NOBODY struct odd make_odd(int n) { struct odd odd; memset(&odd, n, sizeof odd); return odd; }
SEEN_BY_NOBODY struct pair make_pair(int n) { return (struct pair){n, n}; }
SEEN_BY_NOBODY struct numbers make_numbers(int n) { return (struct numbers){n, n}; }
SEEN_BY_NOBODY struct mixed make_mixed(int n) { return (struct mixed){n, n}; }
SEEN_BY_NOBODY struct extended make_extended(int n) { return (struct extended){n}; }
SEEN_BY_NOBODY struct table make_table(int n) { return (struct table){{n, n, n, n, n, n}}; }
SEEN_BY_NOBODY struct large make_large(int n)
{
    struct large large;
    for (int i = 0; i < 40; i++)
        large.entries[i] = n;
    return large;
}
SEEN_BY_NOBODY struct table same_table(int n) { return make_table(n); }

SEEN_BY_NOBODY int of_one(int n, struct one it) { return it.only == n; }
SEEN_BY_NOBODY int of_odd(int n, struct odd it) { return it.bytes[0] == n && it.bytes[7] == n && it.bytes[10] == n; }
SEEN_BY_NOBODY int of_pair(int n, struct pair it) { return it.first == n && it.second == n; }
SEEN_BY_NOBODY int of_numbers(int n, struct numbers it) { return it.x == n && it.y == n; }
SEEN_BY_NOBODY int of_mixed(int n, struct mixed it) { return it.number == n && it.x == n; }
SEEN_BY_NOBODY int of_extended(int n, struct extended it) { return it.x == n; }
SEEN_BY_NOBODY int of_table(int n, struct table it) { return it.entries[0] == n && it.entries[3] == n && it.entries[5] == n; }
SEEN_BY_NOBODY int of_large(int n, struct large it) { return it.entries[0] == n && it.entries[20] == n && it.entries[39] == n; }
SEEN_BY_NOBODY int of_two(struct table one, int n, struct pair two) { return of_table(n, one) && of_pair(n, two); }
SEEN_BY_NOBODY int of_many(int n, ...)
{
    va_list list;
    va_start(list, n);
    struct pair pair = va_arg(list, struct pair);
    struct table table = va_arg(list, struct table);
    va_end(list);
    return of_pair(n, pair) && of_table(n, table);
}

SEEN_BY_NOBODY void set(int n)
{
    shared.one = make_one(n);
    there->odd = make_odd(n);
    shared.pair = make_pair(n);
    there->numbers = make_numbers(n);
    shared.mixed = make_mixed(n);
    there->extended = make_extended(n);
    shared.table = same_table(n);
    there->large = make_large(n);
    shared.before = n;
}

SEEN_BY_NOBODY void get(void)
{
    int n = shared.before;
    CHECK(of_one(n, there->one));
    CHECK(of_odd(n, shared.odd));
    CHECK(of_pair(n, there->pair));
    CHECK(of_numbers(n, shared.numbers));
    CHECK(of_mixed(n, there->mixed));
    CHECK(of_extended(n, shared.extended));
    CHECK(of_table(n, there->table));
    CHECK(of_large(n, shared.large));
    CHECK(of_two(shared.table, shared.before, there->pair));
    CHECK(of_many(n, shared.pair, there->table));
}

static void *work(void *from)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        get();
        set((long)from + i);
        get();
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    set(7);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, (void *)(100 * i + 10));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    get();
    printf("%p\n", (void *)&shared);
    return 0;
}
