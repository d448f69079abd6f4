/* What comes after a wait for tasks never comes before one of them is over, whatever value a run is made to read. */
static int waited_for, left;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single nowait
        {
#pragma omp task
            waited_for = 1;
#pragma omp task
            left = 1;
#pragma omp taskwait
            waited_for++;
        }
        left = 2;
    }
    return 0;
}
