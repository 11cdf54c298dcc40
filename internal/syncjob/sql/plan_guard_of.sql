-- The decision of the guard for a plan ($1).
select blocked, missing, existing, threshold from plan_guards where job_id = $1
