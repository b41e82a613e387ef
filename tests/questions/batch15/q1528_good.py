import torch
import torch.nn.functional as F
from torch import nn

VOCAB, LENGTH = 20, 12


class CausalLM(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        return self.head(self.norm(self.rnn(self.embed(ids))[0]))


def sample_text(count, generator):
    table = torch.randn(VOCAB, VOCAB, generator=torch.Generator().manual_seed(5)).mul(2).softmax(1)
    ids = torch.randint(VOCAB, (count, 1), generator=generator)
    for _ in range(LENGTH - 1):
        ids = torch.cat([ids, torch.multinomial(table[ids[:, -1]], 1, generator=generator)], 1)
    return ids


class DistillationTrainer:
    def __init__(self, student, teacher, gradient_accumulation_steps, temperature=2.0, alpha=0.5):
        self.student, self.teacher = student, teacher
        self.steps = gradient_accumulation_steps
        self.temperature, self.alpha = temperature, alpha
        self.optimizer = torch.optim.SGD(student.parameters(), lr=0.25)

    def compute_loss(self, ids):
        logits = self.student(ids[:, :-1])
        with torch.no_grad():
            teacher_logits = self.teacher(ids[:, :-1])
        t = self.temperature
        soft = F.kl_div(
            (logits / t).log_softmax(-1),
            (teacher_logits / t).log_softmax(-1),
            log_target=True,
            reduction="none",
        )
        hard = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        return self.alpha * t * t * soft.sum(-1).mean() + (1 - self.alpha) * hard

    def training_step(self, batches):
        reported, grad_norm = 0.0, 0.0
        for ids in batches:
            loss = self.compute_loss(ids) / self.steps
            loss.backward()
            reported += loss.item()
        grad_norm = nn.utils.get_total_norm([p.grad for p in self.student.parameters()]).item()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return reported, grad_norm


def train_teacher(teacher, generator):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(60):
        ids = sample_text(64, generator)
        loss = F.cross_entropy(teacher(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    generator = torch.Generator().manual_seed(1)
    torch.manual_seed(0)
    teacher = CausalLM(64)
    print(f"teacher loss {train_teacher(teacher, generator):.3f}")
    held_out = sample_text(256, torch.Generator().manual_seed(2))
    for accumulation in (1, 4, 8):
        torch.manual_seed(3)
        trainer = DistillationTrainer(CausalLM(24), teacher, accumulation)
        for _ in range(40):
            batches = sample_text(64, generator).chunk(accumulation)
            reported, grad_norm = trainer.training_step(batches)
        with torch.no_grad():
            logits = trainer.student(held_out[:, :-1])
        test = F.cross_entropy(logits.flatten(0, 1), held_out[:, 1:].flatten()).item()
        print(
            f"accumulation {accumulation:2d}: reported loss {reported:8.3f}  grad norm {grad_norm:7.3f}  held-out loss {test:.3f}"
        )


if __name__ == "__main__":
    main()
