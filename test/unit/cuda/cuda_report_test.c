/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that a rank begins to use is news only after the report: one that an early message
 * brought into use before it stands in the report itself. */
#include "loaded_driver.h"

#include "runtime/rank_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Look at memory on the device of this number, which brings it into use; put what is logged
 * meanwhile into `said`. */
static void use_and_listen(int number, char *said, size_t room)
{
    FILE *file = tmpfile();
    int terminal = dup(STDERR_FILENO);
    weft_memory_t about;
    assert_non_null(file);
    assert_return_code(dup2(fileno(file), STDERR_FILENO), 0);
    use_device(number);
    int err = weft_device->look(take_device(100), &about);
    assert_return_code(dup2(terminal, STDERR_FILENO), 0);
    close(terminal);
    assert_int_equal(err, MPI_SUCCESS);
    rewind(file);
    said[fread(said, 1, room - 1, file)] = '\0';
    fclose(file);
}

static void test_before(void **state)
{
    char said[400];
    weft_rank_report_t report = {0};
    (void)state;
    use_and_listen(0, said, sizeof(said));
    assert_string_equal(said, "");
    weft_device->describe(&report);
    assert_int_equal(report.gpu.state, WEFT_GPU_KNOWN);
}

static void test_after(void **state)
{
    char said[400];
    (void)state;
    use_and_listen(1, said, sizeof(said));
    assert_non_null(strstr(said, "works on GPU 0000:1E:00.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_before), cmocka_unit_test(test_after)};
    setenv("WEFT_REPORT", "1", 1);
    open_all("devices=2");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
