/* Each construct of OpenMP that libgomp takes part in, with results that are wrong if it does something else than it should. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "line %d\n", __LINE__), exit(1)))

static int kept;
#pragma omp threadprivate(kept)

static int fibonacci(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) firstprivate(n)
    a = fibonacci(n - 1);
#pragma omp task shared(b) firstprivate(n) final(n < 4)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void loops(void)
{
    enum { N = 37 };
    int seen[8][N] = { { 0 } }, order[N], next = 0, last = -1;
    long sum = 0;
    unsigned long long product = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < N; i++)
            seen[0][i]++;
#pragma omp for schedule(guided) nowait
        for (int i = N - 1; i >= 0; i--)
            seen[1][i]++;
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i += 3)
            seen[2][i]++;
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < N; i++) {
#pragma omp ordered
            order[next++] = i;
        }
#pragma omp for schedule(static, 3) ordered lastprivate(last)
        for (int i = 0; i < N; i++) {
            last = i;
            if (i % 2) {
#pragma omp ordered
                seen[3][i] = ++next;
            }
        }
#pragma omp for schedule(nonmonotonic: dynamic) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            sum += i;
#pragma omp for schedule(dynamic) reduction(+ : product)
        for (unsigned long long i = 3; i < 40; i += 4)
            product += i;
#pragma omp for ordered(1) schedule(dynamic)
        for (int i = 1; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
            seen[4][i] = seen[4][i - 1] + 1;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(2) schedule(static)
        for (int i = 1; i < 4; i++)
            for (int j = 1; j < 5; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                seen[5][i * 6 + j] = seen[5][(i - 1) * 6 + j] + seen[5][i * 6 + j - 1] + 1;
#pragma omp ordered depend(source)
            }
    }
    for (int i = 0; i < N; i++) {
        CHECK(seen[0][i] == 1 && seen[1][i] == 1 && seen[2][i] == (i % 3 == 0));
        CHECK(order[i] == i && seen[4][i] == i);
        if (i % 2)
            CHECK(seen[3][i] == N + i / 2 + 1);
    }
    CHECK(sum == N * (N - 1) / 2 && last == N - 1 && product == 210);
    CHECK(seen[5][7] == 1 && seen[5][8] == 2 && seen[5][14] == 5);
#pragma omp parallel for schedule(dynamic) num_threads(4)
    for (long i = 0; i < N; i++)
        seen[6][i] = omp_get_num_threads();
#pragma omp parallel for schedule(runtime) num_threads(2)
    for (long i = 0; i < N; i++)
        CHECK(seen[6][i] == 4);
}

static void blocks(void)
{
    int singles = 0, value = 0, sections = 0, masters = 0, named = 0, total = 0;
    omp_lock_t lock;
    omp_nest_lock_t nested;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(3) firstprivate(value)
    {
        kept = omp_get_thread_num() + 10;
#pragma omp single
        singles++;
#pragma omp single copyprivate(value)
        value = 7 + singles;
        CHECK(value == 8);
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            sections++;
#pragma omp section
#pragma omp atomic
            sections += 2;
        }
        CHECK(sections == 3);
#pragma omp master
        masters++;
#pragma omp critical(one)
        named++;
#pragma omp critical
        total++;
        omp_set_lock(&lock);
        total++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        CHECK(omp_test_nest_lock(&nested) == 2);
        total++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
#pragma omp barrier
        CHECK(named == 3 && masters == 1);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    (void)total;
    /* The pool's threads keep what is theirs. */
#pragma omp parallel num_threads(3)
    CHECK(kept == omp_get_thread_num() + 10);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
#pragma omp atomic
        sections++;
#pragma omp section
#pragma omp atomic
        sections++;
    }
    CHECK(sections == 5);
}

static void tasks(void)
{
    int result = 0, chain = 0, left = 0, right = 0, both = 0, groups = 0, parts[20] = { 0 };
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 4; i++) {
#pragma omp task
                {
#pragma omp task
#pragma omp atomic
                    groups++;
                }
            }
        }
        CHECK(groups == 4);
        result = fibonacci(7);
#pragma omp task depend(out : chain)
        chain = 1;
#pragma omp task depend(in : chain) depend(out : left)
        left = chain + 1;
#pragma omp task depend(in : chain) depend(out : right)
        right = chain + 2;
#pragma omp task depend(in : left, right) depend(inout : chain)
        both = chain = left * right;
#pragma omp task depend(in : chain) if (0)
        CHECK(both == 6);
#pragma omp taskwait
#pragma omp taskloop grainsize(3)
        for (int i = 0; i < 20; i++)
            parts[i] += i;
#pragma omp taskloop num_tasks(4) nogroup
        for (int i = 19; i >= 0; i--) {
#pragma omp atomic
            parts[i]++;
        }
#pragma omp taskyield
    }
    CHECK(result == 13 && chain == 6);
    for (int i = 0; i < 20; i++)
        CHECK(parts[i] == i + 1);
}

/* The one thread that waits for the group executes what a task of it comes after, too: the other one waits for that. */
static void grouped(void)
{
    int chain = 0, seen = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
#pragma omp task depend(out : chain) shared(chain)
        chain = 1;
#pragma omp taskgroup
        {
#pragma omp task depend(inout : chain) shared(chain)
            chain += 8;
        }
        omp_unset_lock(&lock);
    } else {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
        seen = chain;
    }
    omp_destroy_lock(&lock);
    CHECK(seen == 9);
}

static void nests(void)
{
    int inner[2] = { 0 };
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        {
            CHECK(omp_get_level() == 2 && omp_get_ancestor_thread_num(1) == outer && omp_get_team_size(1) == 2);
#pragma omp atomic
            inner[outer] += omp_get_thread_num() + 1;
        }
        CHECK(omp_get_level() == 1);
#pragma omp parallel if (0)
        CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
    }
    CHECK(inner[0] == 3 && inner[1] == 3 && !omp_in_parallel());
}

int main(void)
{
    loops();
    blocks();
    tasks();
    grouped();
    nests();
    omp_set_num_threads(2);
#pragma omp parallel
    CHECK(omp_get_num_threads() == 2);
    return 0;
}
