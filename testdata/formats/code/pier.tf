# The machines on the pier.
variable "berths" {
  type    = number
  default = 4
}

resource "harbour_gauge" "pier" {
  name     = "pier"
  interval = "60s"
  notice   = <<-TEXT
    High water }
  TEXT
}
