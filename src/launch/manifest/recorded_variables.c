/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/manifest/recorded_variables.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Names that end in '*' stand for all that begin so. */
static const char *const recorded[] = {
    "WEFT_*", "OMP_*", "CUDA_*", "FI_*",        "PMIX_*",          "TORCH*",   "NCCL_*",
    "GLOO_*", "MKL_*", "KMP_*",  "MASTER_ADDR", "MASTER_PORT",     "PYTHON*",  "VIRTUAL_ENV",
    "PATH",   "LANG",  "LC_ALL", "LD_PRELOAD",  "LD_LIBRARY_PATH", "CUBLAS_*", "HSA_*",
};

static const char *const secret_words[] = {"TOKEN", "SECRET", "PASSW", "KEY", "CREDENTIAL"};

bool wl_is_secret(const char *name)
{
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof(secret_words) / sizeof(secret_words[0]); i++) {
        size_t letters = strlen(secret_words[i]);
        for (size_t at = 0; at + letters <= length; at++) {
            if (strncasecmp(name + at, secret_words[i], letters) == 0)
                return true;
        }
    }
    return false;
}

bool wl_is_recorded(const char *entry)
{
    if (strchr(entry, '=') == NULL || wl_is_secret(entry))
        return false;
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
        size_t length = strlen(recorded[i]);
        bool is_prefix = recorded[i][length - 1] == '*';
        if (strncmp(entry, recorded[i], length - is_prefix) == 0 &&
            (is_prefix || entry[length] == '='))
            return true;
    }
    return false;
}
