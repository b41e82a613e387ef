import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, LEN = 60, 12


def make(n, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCAB, (n, LEN), generator=g)
    labels = torch.randint(0, 3, (n,), generator=g)
    pos = torch.randint(0, LEN, (n, 3), generator=g)
    ids.scatter_(1, pos, (labels + 1)[:, None].expand(-1, 3).contiguous())
    return TensorDataset(ids, labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32)
        self.mlp = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, ids):
        return self.mlp(self.emb(ids).mean(1))


class TransformerModelWrapper:
    def __init__(self, model):
        self.model = model

    def train(self, data, per_gpu_train_batch_size=8, num_train_epochs=10,
              gradient_accumulation_steps=4, learning_rate=1e-2, max_grad_norm=1.0):
        loader = DataLoader(data, sampler=RandomSampler(data), batch_size=per_gpu_train_batch_size)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, eps=1e-8)
        t_total = len(loader) // gradient_accumulation_steps * num_train_epochs
        scheduler = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda s: max(0.05, 1 - s / max(1, t_total)))
        global_step, tr_loss = 0, 0.0
        self.model.zero_grad()
        for epoch in range(num_train_epochs):
            for step, (ids, labels) in enumerate(loader):
                self.model.train()
                loss = nn.functional.cross_entropy(self.model(ids), labels)
                if gradient_accumulation_steps > 1:
                    loss = loss / gradient_accumulation_steps
                loss.backward()
                tr_loss += loss.item()
                if (step + 1) % gradient_accumulation_steps == 0:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_grad_norm)
                    optimizer.step()
                    scheduler.step()
                    self.model.zero_grad()
                    global_step += 1
            print(f"epoch {epoch} global step {global_step} loss {tr_loss / max(1, global_step):.4f} "
                  f"train acc {self.eval(data):.4f}")
        return global_step

    def eval(self, data):
        loader = DataLoader(data, sampler=SequentialSampler(data), batch_size=64)
        self.model.eval()
        with torch.no_grad():
            hits = sum((self.model(ids).argmax(1) == labels).sum().item() for ids, labels in loader)
        return hits / len(data)


train_data, eval_data = make(56, 1), make(600, 2)
wrapper = TransformerModelWrapper(Classifier())
steps = wrapper.train(train_data)
print(f"steps {steps} eval acc {wrapper.eval(eval_data):.4f}")
