package mssql

import "strings"

// isForbidden reports whether a word begins a statement that does more than read,
// or makes one do so. In T-SQL, a statement may follow another one without
// anything between them, so none of these words may be anywhere. A column with such
// a name is written in brackets.
func isForbidden(value string) bool {
	const words = ` INSERT UPDATE DELETE MERGE TRUNCATE DROP CREATE ALTER ADD EXEC EXECUTE PROC PROCEDURE GRANT REVOKE DENY SET DECLARE IF WHILE BEGIN COMMIT
 ROLLBACK SAVE TRAN TRANSACTION USE GO WAITFOR PRINT RAISERROR THROW RETURN GOTO BREAK CONTINUE BACKUP RESTORE LOAD DUMP DBCC KILL SHUTDOWN CHECKPOINT
 RECONFIGURE BULK OPEN CLOSE DEALLOCATE CURSOR READTEXT WRITETEXT UPDATETEXT LINENO SETUSER REVERT TRIGGER SEND RECEIVE CONVERSATION RENAME INTO OUTPUT
 OPENROWSET OPENQUERY OPENDATASOURCE OPENXML DISABLE ENABLE PREDICT
 TABLOCK TABLOCKX UPDLOCK XLOCK HOLDLOCK SERIALIZABLE REPEATABLEREAD `
	return contains(words, value) || strings.HasPrefix(value, "XP_") || strings.HasPrefix(value, "SP_")
}

// isFunction reports whether a built-in function only computes a value from its
// arguments, the clock or a random number.
func isFunction(value string) bool {
	const names = ` ABS ACOS ASCII ASIN ATAN ATN2 AVG CEILING CHAR CHARINDEX CHECKSUM CHECKSUM_AGG CHOOSE COALESCE COMPRESS CONCAT CONCAT_WS CONTAINS FREETEXT CONVERT COS COT COUNT
 COUNT_BIG CUME_DIST CURRENT_TIMESTAMP DATALENGTH DATE_BUCKET DATEADD DATEDIFF DATEDIFF_BIG DATEFROMPARTS DATENAME DATEPART DATETIME2FROMPARTS DATETIMEFROMPARTS
 DATETIMEOFFSETFROMPARTS DATETRUNC DAY DECOMPRESS DEGREES DENSE_RANK DIFFERENCE EOMONTH EXP FIRST_VALUE FLOOR FORMAT GETDATE GETUTCDATE GREATEST GROUPING
 GROUPING_ID HASHBYTES IIF ISDATE ISJSON ISNULL ISNUMERIC JSON_ARRAY JSON_ARRAYAGG JSON_OBJECT JSON_OBJECTAGG JSON_PATH_EXISTS JSON_QUERY JSON_VALUE LAG LAST_VALUE LEAD LEAST LEFT LEN LOG
 LOG10 LOWER LTRIM MAX MIN MONTH NCHAR NEWID NTILE NULLIF PARSE PATINDEX PERCENT_RANK PERCENTILE_CONT PERCENTILE_DISC PI POWER QUOTENAME RADIANS RAND RANK
 REGEXP_COUNT REGEXP_INSTR REGEXP_LIKE REGEXP_REPLACE REGEXP_SUBSTR REPLACE REPLICATE REVERSE RIGHT ROUND ROW_NUMBER RTRIM SIGN SIN SMALLDATETIMEFROMPARTS SOUNDEX SPACE SQRT SQUARE STDEV STDEVP
 STR STRING_AGG STRING_ESCAPE STUFF SUBSTRING SUM SWITCHOFFSET SYSDATETIME SYSDATETIMEOFFSET SYSUTCDATETIME TAN TIMEFROMPARTS TODATETIMEOFFSET
 TRANSLATE TRIM TRY_CAST TRY_CONVERT TRY_PARSE UNICODE UPPER VAR VARP YEAR CAST APPROX_COUNT_DISTINCT BIT_COUNT LEFT_SHIFT RIGHT_SHIFT `
	return contains(names, value)
}

// isTableFunction reports whether a function in FROM only computes rows from its
// arguments.
func isTableFunction(value string) bool {
	return contains(" STRING_SPLIT OPENJSON GENERATE_SERIES REGEXP_SPLIT_TO_TABLE REGEXP_MATCHES ", value)
}

// opensParenthesis reports whether a keyword may be followed by a parenthesis. All are
// reserved, so that none can be the alias behind which another statement begins.
func opensParenthesis(value string) bool {
	const words = ` SELECT FROM JOIN ON WHERE AND OR NOT IN EXISTS ANY SOME HAVING BY WHEN THEN ELSE CASE BETWEEN LIKE AS OVER UNION EXCEPT INTERSECT VALUES
 WITH TOP OPTION PIVOT UNPIVOT DISTINCT TABLESAMPLE ESCAPE `
	return contains(words, value)
}

// isType reports whether a type has a length or precision.
func isType(value string) bool {
	return contains(" CHAR VARCHAR NCHAR NVARCHAR BINARY VARBINARY DECIMAL NUMERIC DEC FLOAT TIME DATETIME2 DATETIMEOFFSET VECTOR ", value)
}

// precedesExpression reports whether an expression, and nothing else, follows a
// reserved word.
func precedesExpression(value string) bool {
	return contains(" SELECT DISTINCT PERCENT FROM ON WHERE AND OR NOT HAVING BY CASE WHEN THEN ELSE BETWEEN LIKE ESCAPE ", value)
}

// isClause reports whether a word has a meaning in the structure of a query. Such a
// word is no part of a longer name, unless in brackets.
func isClause(value string) bool {
	const words = ` ALL APPLY CROSS FETCH FOR FULL GROUP INNER IS LEFT NULL OF ORDER OUTER PERCENT RIGHT END WINDOW `
	return opensParenthesis(value) || contains(words, value)
}

// contains reports whether a list has a word: each has a space before it, and a space or
// the end of a line behind it.
func contains(words, value string) bool {
	return value != "" && (strings.Contains(words, " "+value+" ") || strings.Contains(words, " "+value+"\n"))
}
