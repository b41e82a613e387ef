import torch
import torch.nn as nn
import torch.nn.functional as F


class KnowledgeDistillationPolicy:
    """Mixes the loss against the labels with the loss against the teacher's softened outputs."""

    def __init__(self, student, teacher, temperature=8.0, student_wt=0.3, distill_wt=0.7):
        self.student, self.teacher = student, teacher
        self.temperature = temperature
        self.student_wt, self.distill_wt = student_wt, distill_wt

    def forward(self, inputs):
        with torch.no_grad():
            self.teacher_logits = self.teacher(inputs)
        self.student_logits = self.student(inputs)
        return self.student_logits

    def before_backward_pass(self, loss):
        soft_log_probs = F.log_softmax(self.student_logits / self.temperature, dim=1)
        soft_targets = F.softmax(self.teacher_logits / self.temperature, dim=1)
        distillation_loss = (
            F.kl_div(soft_log_probs, soft_targets, reduction="batchmean") * self.temperature**2
        )
        overall_loss = self.student_wt * loss + self.distill_wt * distillation_loss
        return overall_loss, distillation_loss


def mlp(hidden):
    return nn.Sequential(nn.Linear(16, hidden), nn.ReLU(), nn.Linear(hidden, 5))


def make_data(n, rule, flip):
    x = torch.randn(n, 16)
    y = rule(x).argmax(1)
    wrong = torch.rand(n) < flip
    return x, torch.where(wrong, torch.randint(5, (n,)), y)


def pull(loss, student):
    return torch.cat(
        [g.flatten() for g in torch.autograd.grad(loss, student.parameters(), retain_graph=True)]
    ).norm()


def main():
    torch.manual_seed(0)
    rule = mlp(24)
    for p in rule.parameters():
        p.requires_grad = False
        p.mul_(4)
    x, y = make_data(600, rule, flip=0.4)
    xt, yt = make_data(1500, rule, flip=0.0)
    student = mlp(32)
    policy = KnowledgeDistillationPolicy(student, rule)
    optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
    for epoch in range(24):
        for rows in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(policy.forward(x[rows]), y[rows])
            overall, distillation = policy.before_backward_pass(loss)
            optimizer.zero_grad()
            hard, soft = (
                pull(policy.student_wt * loss, student),
                pull(policy.distill_wt * distillation, student),
            )
            overall.backward()
            optimizer.step()
        if epoch % 4 == 3:
            with torch.no_grad():
                acc = (student(xt).argmax(1) == yt).float().mean().item()
            print(
                f"epoch {epoch}: labels {loss.item():.3f}  distillation {distillation.item():.4f}  "
                f"gradient of labels {hard:.3f}  of teacher {soft:.4f}  test accuracy {acc:.3f}"
            )


if __name__ == "__main__":
    main()
