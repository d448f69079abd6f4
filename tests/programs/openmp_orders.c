/* What OpenMP orders: regions, barriers, critical sections, ordered parts, tasks and what they depend on. Nothing here races. */
#include <omp.h>
#include <pthread.h>

static int before, after, counted, named, locked, once, copied, turn, made, joined, grouped, first, second, third, waited;
static int steps[8], parts[8];

int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    before = 1; /* @before */
#pragma omp parallel num_threads(3)
    {
        int seen = before; /* @inside */
#pragma omp critical
        counted += seen; /* @critical */
#pragma omp critical(other)
        named++; /* @named */
        omp_set_lock(&lock);
        locked++; /* @locked */
        omp_unset_lock(&lock);
        if (omp_get_thread_num() == 1)
            after = 1; /* @set */
#pragma omp barrier
        seen = after; /* @behind */
#pragma omp single
        once = seen; /* @once */
        seen = once; /* @all */
#pragma omp single copyprivate(seen)
        {
            copied = 2; /* @copied */
            seen = 5;
        }
        seen += copied; /* @copies */
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 6; i++) {
#pragma omp ordered
            turn = turn + i; /* @turn */
        }
#pragma omp for ordered(1) schedule(dynamic)
        for (int i = 1; i < 6; i++) {
#pragma omp ordered depend(sink : i - 1)
            steps[i] = steps[i - 1] + 1; /* @step */
#pragma omp ordered depend(source)
        }
#pragma omp master
        {
            made = 3; /* @made */
#pragma omp task
            joined = made; /* @task */
#pragma omp taskwait
            waited = joined; /* @waited */
#pragma omp taskgroup
            {
#pragma omp task
                {
#pragma omp task
                    grouped = 1; /* @deep */
                }
            }
            waited += grouped; /* @group */
#pragma omp task depend(out : first)
            first = 1; /* @first */
#pragma omp task depend(in : first) depend(out : second)
            second = first; /* @second */
#pragma omp task depend(in : second)
            third = second; /* @third */
#pragma omp taskloop grainsize(2)
            for (int i = 0; i < 8; i++)
                parts[i] = i; /* @part */
            waited += parts[7]; /* @parts */
        }
#pragma omp barrier
        seen = third; /* @end */
        (void)seen;
    }
    before = counted + third; /* @join */
#pragma omp parallel num_threads(3)
    {
        int seen = before; /* @again */
        (void)seen;
    }
    before = 0; /* @last */
    return 0;
}
