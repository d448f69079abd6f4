/* An instruction asks the processor's clock. */
__attribute__((noipa)) static unsigned long long now(void)
{
    return __builtin_ia32_rdtsc();
}

int main(void)
{
    return now() == 0;
}
