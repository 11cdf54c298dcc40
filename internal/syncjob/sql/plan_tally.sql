-- The items of a plan ($1) by action.
select action, count(*) from plan_items where job_id = $1 group by action
