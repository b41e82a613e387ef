import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.mlp(self.norm(x.cumsum(1) / torch.arange(1, x.size(1) + 1).view(1, -1, 1)))


class GPT(nn.Module):
    def __init__(self, vocab=16, dim=32):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.h = nn.Sequential(Block(dim), Block(dim))
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx):
        return self.lm_head(self.h(self.wte(idx)))


learning_rate = 3e-3
batch_size = 1
micro_batch_size = 1
gradient_accumulation_iters = batch_size // micro_batch_size
max_iters = 300
warmup_steps = 20


def get_batch(data):
    ix = torch.randint(0, len(data), (micro_batch_size,))
    return data[ix, :-1], data[ix, 1:]


def train(model, optimizer, scheduler, data):
    step_count = 0
    for iter_num in range(max_iters):
        if step_count <= warmup_steps:
            lr = learning_rate * step_count / warmup_steps
            for param_group in optimizer.param_groups:
                param_group["lr"] = lr

        input_ids, targets = get_batch(data)
        is_accumulating = (iter_num + 1) % gradient_accumulation_iters != 1
        logits = model(input_ids)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        (loss / gradient_accumulation_iters).backward()

        if not is_accumulating:
            optimizer.step()
            optimizer.zero_grad()
            if step_count > warmup_steps:
                scheduler.step()
            step_count += 1

        if iter_num % 50 == 49:
            lr = optimizer.param_groups[0]["lr"]
            print(f"iter {iter_num} step {step_count}: loss {loss.item():.4f} lr {lr:.2e}")


torch.manual_seed(1337)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=max_iters)
start = torch.randint(0, 16, (64, 1))
data = (start + 3 * torch.arange(20)) % 16
train(model, optimizer, scheduler, data)
