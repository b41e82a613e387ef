import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)

VOCAB, LENGTH, DIM, CLASSES = 30, 10, 32, 4
WARMUP, FACTOR = 400, 1.0


def make_task(n, gen):
    tokens = torch.randint(2, VOCAB, (n, LENGTH), generator=gen)
    labels = (tokens < 9).sum(dim=1).clamp(1, CLASSES) - 1
    return tokens, labels


class SentenceClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Parameter(torch.randn(LENGTH, DIM) * 0.1)
        layer = nn.TransformerEncoderLayer(DIM, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, tokens):
        return self.head(self.body(self.emb(tokens) + self.pos).mean(dim=1))


def noam(step):
    step = step + 1
    return FACTOR * DIM ** -0.5 * min(step ** -0.5, step * WARMUP ** -1.5)


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    logits = model(x)
    model.train()
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


gen = torch.Generator().manual_seed(8)
train_x, train_y = make_task(4000, gen)
val_x, val_y = make_task(800, gen)

model = SentenceClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, noam)

VALIDATE_EVERY = 100
for update in range(1, 601):
    idx = torch.randint(0, len(train_x), (64,))
    loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if update % VALIDATE_EVERY == 0:
        val_loss, val_acc = validate(model, val_x, val_y)
        scheduler.step()
        print(f"update {update} train {loss.item():.3f} val {val_loss:.3f} acc {val_acc:.3f}")

val_loss, val_acc = validate(model, val_x, val_y)
print(f"final val loss {val_loss:.3f} accuracy {val_acc:.3f}")
