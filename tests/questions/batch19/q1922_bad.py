import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)

VOCAB, DIM, LEN, OUT = 200, 32, 6, 8


class TextEncoder(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, DIM)
        self.body = nn.Sequential(nn.Linear(DIM, 64), nn.GELU(), nn.Linear(64, OUT))

    def forward(self, ids):
        return self.body(self.token_embedding(ids).mean(dim=1))


def prompts(n, vocab=VOCAB):
    return torch.randint(0, vocab, (n, LEN))


meaning = torch.randn(VOCAB + 1, OUT)


def target_for(ids):
    return torch.tanh(meaning[ids].mean(dim=1) * 2)


encoder = TextEncoder(VOCAB)
opt = torch.optim.Adam(encoder.parameters(), lr=3e-3)
for _ in range(1500):
    ids = prompts(128)
    loss = F.mse_loss(encoder(ids), target_for(ids))
    opt.zero_grad()
    loss.backward()
    opt.step()

old = encoder.token_embedding.weight.data
placeholder_id = VOCAB
resized = nn.Embedding(VOCAB + 1, DIM)
with torch.no_grad():
    resized.weight[:VOCAB] = old
    resized.weight[placeholder_id] = old[17]
encoder.token_embedding = resized
for p in encoder.body.parameters():
    p.requires_grad_(False)

eval_ids = prompts(2000)


@torch.no_grad()
def report(tag):
    plain = F.mse_loss(encoder(eval_ids), target_for(eval_ids)).item()
    with_new = eval_ids.clone()
    with_new[:, 0] = placeholder_id
    new = F.mse_loss(encoder(with_new), target_for(with_new)).item()
    norm = encoder.token_embedding.weight[:VOCAB].norm(dim=1).mean().item()
    print(f"{tag}: known prompts mse {plain:.4f}  new concept mse {new:.4f}  mean norm of known tokens {norm:.3f}")


report("before")
optimizer = torch.optim.AdamW(
    encoder.token_embedding.parameters(), lr=2e-2, betas=(0.9, 0.999), weight_decay=1e-2, eps=1e-8
)
for step in range(4000):
    ids = prompts(32)
    ids[:, 0] = placeholder_id
    loss = F.mse_loss(encoder(ids), target_for(ids))
    loss.backward()
    grads = encoder.token_embedding.weight.grad
    index_to_zero = torch.arange(VOCAB + 1) != placeholder_id
    grads.data[index_to_zero, :] = 0
    optimizer.step()
    optimizer.zero_grad()
report("after ")
