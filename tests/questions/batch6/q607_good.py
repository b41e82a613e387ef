import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Config:
    vocab, dim, hidden, classes = 50, 16, 32, 3
    fix_emb = True


class SentencePairModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.dim)
        self.encoder = nn.GRU(config.dim, config.hidden, batch_first=True)
        self.out = nn.Linear(2 * config.hidden, config.classes)

    def encode(self, embedded):
        _, h = self.encoder(embedded)
        return h[-1]

    def forward(self, premise, hypothesis):
        prem_embed = self.embed(premise)
        hypo_embed = self.embed(hypothesis)
        if self.config.fix_emb:
            prem_embed = prem_embed.detach().requires_grad_()
            hypo_embed = hypo_embed.detach().requires_grad_()
        both = torch.cat([self.encode(prem_embed), self.encode(hypo_embed)], 1)
        return self.out(both), prem_embed, hypo_embed


def adversarial_loss(model, premise, hypothesis, label, eps=0.1):
    logits, prem_embed, hypo_embed = model(premise, hypothesis)
    loss = F.cross_entropy(logits, label)
    grads = torch.autograd.grad(loss, [prem_embed, hypo_embed], retain_graph=True)
    noise = [eps * g / (g.norm(dim=-1, keepdim=True) + 1e-8) for g in grads]
    both = torch.cat([model.encode(prem_embed + noise[0]), model.encode(hypo_embed + noise[1])], 1)
    return loss + F.cross_entropy(model.out(both), label)


model = SentencePairModel(Config())
optimizer = torch.optim.Adam([p for n, p in model.named_parameters() if n != "embed.weight"], lr=5e-3)
premise = torch.randint(0, 50, (256, 8))
hypothesis = torch.randint(0, 50, (256, 6))
label = (premise[:, 0] + hypothesis[:, 0]) % 3
for epoch in range(1, 21):
    total = 0.0
    for i in range(0, 256, 32):
        batch = slice(i, i + 32)
        loss = adversarial_loss(model, premise[batch], hypothesis[batch], label[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {total / 8:.4f}")
