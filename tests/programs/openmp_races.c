/* What OpenMP does not order: the same constructs, each with the one thing left out that would. */
#include <omp.h>

static int plain, mixed, early, unwaited, single_value, left, loop[4], once;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        plain = omp_get_thread_num(); /* @plain */
        if (omp_get_thread_num() == 0) {
#pragma omp critical
            mixed = 1; /* @one */
        } else {
#pragma omp critical(other)
            mixed = 2; /* @other */
        }
        if (omp_get_thread_num() == 0)
            early = 1; /* @early */
        else
            early = 2; /* @late */
#pragma omp barrier
#pragma omp single nowait
        single_value = 1; /* @single */
        int seen = single_value; /* @look */
#pragma omp barrier
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 2; i++)
            loop[0] = i; /* @loop */
#pragma omp barrier
#pragma omp master
        {
#pragma omp task
            unwaited = 1; /* @task */
            seen = unwaited; /* @use */
#pragma omp taskwait
#pragma omp task depend(out : once)
            left = 1; /* @writer */
#pragma omp task
            left = 2; /* @stranger */
        }
        (void)seen;
    }
    return 0;
}
