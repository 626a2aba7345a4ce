/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error classes, codes and their texts (MPI 5.0 sections 9.4 and 9.5). The library itself returns
 * classes, and codes up to MPI_ERR_LASTCODE for functions that are missing; codes beyond are the
 * user's.
 */
#ifndef WEFT_OBJECT_ERROR_CODE_H
#define WEFT_OBJECT_ERROR_CODE_H

/** MPI_LASTUSEDCODE: the highest code in use, at least MPI_ERR_LASTCODE. */
extern int weft_error_last_used;

/** What a code means; "" for a user's code without a text, NULL when there is no such code. */
const char *weft_error_text(int code);

/** The class of a code; -1 when there is no such code. */
int weft_error_class(int code);

/** The code for the lack of a function, of class MPI_ERR_UNSUPPORTED_OPERATION, whose text names
 * it; always the same. `function` lives as long as the program. With the lock. */
int weft_error_of_missing(const char *function);

/** MPI_ERR_NO_MEM. */
int weft_error_add_class(int *class_out);
/** A code in a class, predefined or not. MPI_ERR_ARG when there is no such class; MPI_ERR_NO_MEM.
 */
int weft_error_add_code(int error_class, int *code_out);
/** Set or replace the text of a user's class or code. MPI_ERR_ARG, MPI_ERR_NO_MEM. */
int weft_error_add_text(int code, const char *text);

/** MPI_ERR_ARG: not a class that the user added, or one that has codes or a text. */
int weft_error_remove_class(int error_class);
/** MPI_ERR_ARG: not a code that the user added, or one that has a text. */
int weft_error_remove_code(int code);
/** MPI_ERR_ARG: not a class or code that the user added, or it has no text. */
int weft_error_remove_text(int code);

#endif
