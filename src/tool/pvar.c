/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool/pvar.h"

#include "base/memory.h"

static const weft_pvar_t **pvars; /* [pvar_count] all rows of all tables */
static int pvar_count;

static int show_table(const weft_pvar_table_t *table)
{
    size_t count = (size_t)pvar_count + (size_t)table->count;
    const weft_pvar_t **more = weft_realloc(pvars, count * sizeof(const weft_pvar_t *));
    int err = more == NULL ? MPI_T_ERR_MEMORY : MPI_SUCCESS;
    if (more != NULL)
        pvars = more;
    for (int i = 0; err == MPI_SUCCESS && i < table->count; i++) {
        pvars[pvar_count++] = &table->rows[i];
        err = weft_enum_show(table->rows[i].items);
    }
    return err;
}

int weft_pvars_open(const weft_pvar_table_t *const *tables, int count)
{
    int err = MPI_SUCCESS;
    for (int i = 0; err == MPI_SUCCESS && i < count; i++)
        err = show_table(tables[i]);
    return err;
}

void weft_pvars_close(void)
{
    weft_free(pvars);
    pvars = NULL;
    pvar_count = 0;
}

int weft_pvar_count(void)
{
    return pvar_count;
}

const weft_pvar_t *weft_pvar(int index)
{
    return pvars[index];
}

void weft_pvar_read_count(const weft_pvar_t *pvar, const void *object, weft_value_t *out)
{
    (void)object;
    out->count = *(const volatile uint64_t *)pvar->source;
}
