import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
VOCAB, LENGTH, KD_WEIGHT = 20, 8, 4.0


class Decoder(nn.Module):
    def __init__(self, enc_dim, hidden):
        super().__init__()
        self.embed = nn.Embedding(VOCAB + 1, hidden)
        self.init = nn.Linear(enc_dim, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)

    def forward(self, memory, prev):
        h0 = torch.tanh(self.init(memory)).unsqueeze(0)
        y, _ = self.gru(self.embed(prev), h0)
        return self.out(y)


class DualDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_embed = nn.Embedding(VOCAB, 48)
        self.encoder = nn.GRU(48, 96, batch_first=True)
        self.teacher = Decoder(96, 96)
        self.student = Decoder(96, 6)

    def forward(self, src, prev):
        _, h = self.encoder(self.src_embed(src))
        return self.teacher(h[-1], prev), self.student(h[-1], prev)


def make_pairs(n, gen):
    src = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    tgt = (src.flip(1) + torch.arange(LENGTH)) % VOCAB
    tgt = tgt[:, :4]
    prev = torch.cat([torch.full((n, 1), VOCAB), tgt[:, :-1]], dim=1)
    return src, prev, tgt


def dual_loss(teacher_logits, student_logits, tgt):
    nll = F.cross_entropy(teacher_logits.reshape(-1, VOCAB), tgt.reshape(-1))
    teacher_probs = F.softmax(teacher_logits, dim=-1).detach()
    student_logp = F.log_softmax(student_logits, dim=-1)
    kd = -(teacher_probs * student_logp).sum(dim=-1).mean()
    return nll, kd, nll + KD_WEIGHT * kd


gen = torch.Generator().manual_seed(9)
train = make_pairs(6000, gen)
test = make_pairs(800, gen)
model = DualDecoder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(20):
    order = torch.randperm(6000, generator=gen)
    sums = [0.0, 0.0]
    for k in range(0, 6000, 100):
        src, prev, tgt = (a[order[k:k + 100]] for a in train)
        t_logits, s_logits = model(src, prev)
        nll, kd, loss = dual_loss(t_logits, s_logits, tgt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sums[0] += nll.item() / 60
        sums[1] += kd.item() / 60
    if epoch % 5 == 0 or epoch == 19:
        print(f"epoch {epoch:2d}  teacher nll {sums[0]:.4f}  kd {sums[1]:.4f}")

model.eval()
with torch.no_grad():
    t_logits, s_logits = model(test[0], test[1])
for name, logits in (("teacher", t_logits), ("student", s_logits)):
    nll = F.cross_entropy(logits.reshape(-1, VOCAB), test[2].reshape(-1)).item()
    acc = (logits.argmax(-1) == test[2]).float().mean().item()
    print(f"{name} test nll {nll:.4f}  token accuracy {acc:.3f}")
