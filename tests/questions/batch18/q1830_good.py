import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
vocab_size, context = 24, 12
successor = torch.randperm(vocab_size)


def load_batch(n=16):
    tokens = [torch.randint(0, vocab_size, (n,))]
    for _ in range(context):
        jump = torch.randint(0, vocab_size, (n,))
        tokens.append(torch.where(torch.rand(n) < 0.85, successor[tokens[-1]], jump))
    tokens = torch.stack(tokens, dim=1)
    return tokens[:, :-1], tokens[:, 1:]


class CausalLM(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, vocab_size)

    def forward(self, input_ids, labels):
        hidden, _ = self.rnn(self.embed_tokens(input_ids))
        logits = self.lm_head(hidden)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def train(model, train_batches, optimizer, lr_scheduler, gradient_accumulation_steps, num_epochs):
    for epoch in range(num_epochs):
        model.train()
        total_loss = 0.0
        for step, (input_ids, labels) in enumerate(train_batches):
            loss = model(input_ids, labels) / gradient_accumulation_steps
            total_loss += loss.item() * gradient_accumulation_steps
            loss.backward()
            if (step + 1) % gradient_accumulation_steps == 0 or step == len(train_batches) - 1:
                optimizer.step()
                optimizer.zero_grad()
        lr_scheduler.step()
        rate = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch + 1}: train_epoch_loss {total_loss / len(train_batches):.4f}  lr {rate:.2e}")


model = CausalLM()
train_batches = [load_batch() for _ in range(100)]
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
scheduler = StepLR(optimizer, step_size=1, gamma=0.85)
train(model, train_batches, optimizer, scheduler, gradient_accumulation_steps=2, num_epochs=8)
with torch.no_grad():
    losses = [model(*load_batch()).item() for _ in range(20)]
print(
    f"eval_loss {sum(losses) / len(losses):.4f}  (a uniform guess has {torch.log(torch.tensor(vocab_size)).item():.4f})"
)
