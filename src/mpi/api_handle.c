/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles as integers, for other languages (MPI 5.0 section 20.4). Datatypes and operations, which
 * keep their numbers themselves, are in the files of their chapters. All work at any time; a number
 * that no handle has gives the null handle. */
#include "mpi/api.h"

#include "object/handle_numbers.h"

/** The integer that stands for a communicator in other languages (section 20.4). It is the same for
 *  as long as the communicator lives. May be called at any time, and raises no error.
 *  @param[in] comm  any handle of its kind, MPI_COMM_NULL included
 *  @see MPI_Comm_fromint */
WEFT_API(MPI_Comm_toint);
int PMPI_Comm_toint(MPI_Comm comm)
{
    return weft_handle_number(comm);
}

/** The communicator that an integer of MPI_Comm_toint stands for (section 20.4). May be called at
 *  any time, and raises no error: an integer beyond the predefined handles that stands for none
 *  gives MPI_COMM_NULL.
 *  @see MPI_Comm_toint */
WEFT_API(MPI_Comm_fromint);
MPI_Comm PMPI_Comm_fromint(int comm)
{
    return weft_handle_of_number(comm, MPI_COMM_NULL);
}

/** The integer that stands for an error handler in other languages (section 20.4). It is the same
 *  for as long as the error handler lives. May be called at any time, and raises no error.
 *  @param[in] errhandler  any handle of its kind, MPI_ERRHANDLER_NULL included
 *  @see MPI_Errhandler_fromint */
WEFT_API(MPI_Errhandler_toint);
int PMPI_Errhandler_toint(MPI_Errhandler errhandler)
{
    return weft_handle_number(errhandler);
}

/** The error handler that an integer of MPI_Errhandler_toint stands for (section 20.4). May be
 *  called at any time, and raises no error: an integer beyond the predefined handles that stands
 *  for none gives MPI_ERRHANDLER_NULL.
 *  @see MPI_Errhandler_toint */
WEFT_API(MPI_Errhandler_fromint);
MPI_Errhandler PMPI_Errhandler_fromint(int errhandler)
{
    return weft_handle_of_number(errhandler, MPI_ERRHANDLER_NULL);
}

/** The integer that stands for a file in other languages (section 20.4). It is the same for as long
 *  as the file lives. May be called at any time, and raises no error.
 *  @param[in] file  any handle of its kind, MPI_FILE_NULL included
 *  @see MPI_File_fromint */
WEFT_API(MPI_File_toint);
int PMPI_File_toint(MPI_File file)
{
    return weft_handle_number(file);
}

/** The file that an integer of MPI_File_toint stands for (section 20.4). May be called at any time,
 *  and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_FILE_NULL.
 *  @see MPI_File_toint */
WEFT_API(MPI_File_fromint);
MPI_File PMPI_File_fromint(int file)
{
    return weft_handle_of_number(file, MPI_FILE_NULL);
}

/** The integer that stands for a group in other languages (section 20.4). It is the same for as
 *  long as the group lives. May be called at any time, and raises no error.
 *  @param[in] group  any handle of its kind, MPI_GROUP_NULL included
 *  @see MPI_Group_fromint */
WEFT_API(MPI_Group_toint);
int PMPI_Group_toint(MPI_Group group)
{
    return weft_handle_number(group);
}

/** The group that an integer of MPI_Group_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_GROUP_NULL.
 *  @see MPI_Group_toint */
WEFT_API(MPI_Group_fromint);
MPI_Group PMPI_Group_fromint(int group)
{
    return weft_handle_of_number(group, MPI_GROUP_NULL);
}

/** The integer that stands for an info object in other languages (section 20.4). It is the same for
 *  as long as the info object lives. May be called at any time, and raises no error.
 *  @param[in] info  any handle of its kind, MPI_INFO_NULL included
 *  @see MPI_Info_fromint */
WEFT_API(MPI_Info_toint);
int PMPI_Info_toint(MPI_Info info)
{
    return weft_handle_number(info);
}

/** The info object that an integer of MPI_Info_toint stands for (section 20.4). May be called at
 *  any time, and raises no error: an integer beyond the predefined handles that stands for none
 *  gives MPI_INFO_NULL.
 *  @see MPI_Info_toint */
WEFT_API(MPI_Info_fromint);
MPI_Info PMPI_Info_fromint(int info)
{
    return weft_handle_of_number(info, MPI_INFO_NULL);
}

/** The integer that stands for a message in other languages (section 20.4). It is the same for as
 *  long as the message lives. May be called at any time, and raises no error.
 *  @param[in] message  any handle of its kind, MPI_MESSAGE_NULL included
 *  @see MPI_Message_fromint */
WEFT_API(MPI_Message_toint);
int PMPI_Message_toint(MPI_Message message)
{
    return weft_handle_number(message);
}

/** The message that an integer of MPI_Message_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_MESSAGE_NULL.
 *  @see MPI_Message_toint */
WEFT_API(MPI_Message_fromint);
MPI_Message PMPI_Message_fromint(int message)
{
    return weft_handle_of_number(message, MPI_MESSAGE_NULL);
}

/** The integer that stands for a request in other languages (section 20.4). It is the same for as
 *  long as the request lives. May be called at any time, and raises no error.
 *  @param[in] request  any handle of its kind, MPI_REQUEST_NULL included
 *  @see MPI_Request_fromint */
WEFT_API(MPI_Request_toint);
int PMPI_Request_toint(MPI_Request request)
{
    return weft_handle_number(request);
}

/** The request that an integer of MPI_Request_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_REQUEST_NULL.
 *  @see MPI_Request_toint */
WEFT_API(MPI_Request_fromint);
MPI_Request PMPI_Request_fromint(int request)
{
    return weft_handle_of_number(request, MPI_REQUEST_NULL);
}

/** The integer that stands for a session in other languages (section 20.4). It is the same for as
 *  long as the session lives. May be called at any time, and raises no error.
 *  @param[in] session  any handle of its kind, MPI_SESSION_NULL included
 *  @see MPI_Session_fromint */
WEFT_API(MPI_Session_toint);
int PMPI_Session_toint(MPI_Session session)
{
    return weft_handle_number(session);
}

/** The session that an integer of MPI_Session_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_SESSION_NULL.
 *  @see MPI_Session_toint */
WEFT_API(MPI_Session_fromint);
MPI_Session PMPI_Session_fromint(int session)
{
    return weft_handle_of_number(session, MPI_SESSION_NULL);
}

/** The integer that stands for a window in other languages (section 20.4). It is the same for as
 *  long as the window lives. May be called at any time, and raises no error.
 *  @param[in] win  any handle of its kind, MPI_WIN_NULL included
 *  @see MPI_Win_fromint */
WEFT_API(MPI_Win_toint);
int PMPI_Win_toint(MPI_Win win)
{
    return weft_handle_number(win);
}

/** The window that an integer of MPI_Win_toint stands for (section 20.4). May be called at any
 *  time, and raises no error: an integer beyond the predefined handles that stands for none gives
 *  MPI_WIN_NULL.
 *  @see MPI_Win_toint */
WEFT_API(MPI_Win_fromint);
MPI_Win PMPI_Win_fromint(int win)
{
    return weft_handle_of_number(win, MPI_WIN_NULL);
}
