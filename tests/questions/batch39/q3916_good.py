import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def encoder():
    return nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 16))


class MocoV2(nn.Module):
    def __init__(self, num_negatives=512, momentum=0.99, temperature=0.2):
        super().__init__()
        self.K, self.m, self.T = num_negatives, momentum, temperature
        self.encoder_q = encoder()
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(16, self.K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr:ptr + len(keys)] = keys.T
        self.queue_ptr[0] = (ptr + len(keys)) % self.K

    def forward(self, img_q, img_k):
        q = F.normalize(self.encoder_q(img_q), dim=1)
        with torch.no_grad():
            if self.training:
                self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(img_k), dim=1)
        l_pos = (q * k).sum(1, keepdim=True)
        l_neg = q @ self.queue.clone()
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(len(logits), dtype=torch.long)
        if self.training:
            self._dequeue_and_enqueue(k)
        return logits, labels

    def training_step(self, batch):
        output, target = self(*augment(batch[0]))
        return F.cross_entropy(output, target)

    def validation_step(self, batch):
        output, target = self(*augment(batch[0]))
        return F.cross_entropy(output, target)


def augment(x):
    return x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)


def fit(num_val):
    torch.manual_seed(0)
    centers = 1.5 * torch.randn(40, 24)
    train = centers[torch.randint(0, 30, (1024,))] + 0.4 * torch.randn(1024, 24)
    val = centers[torch.randint(30, 40, (1024,))] + 0.4 * torch.randn(1024, 24)
    train_loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True, generator=torch.Generator().manual_seed(1))
    val_loader = DataLoader(TensorDataset(val[:num_val]), batch_size=64)
    model = MocoV2()
    optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(8):
        torch.manual_seed(100 + epoch)
        model.train()
        losses = []
        for batch in train_loader:
            loss = model.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val_losses = [model.validation_step(b).item() for b in val_loader]
        print(f"validation images {num_val} epoch {epoch} train_loss first {losses[0]:.4f} "
              f"mean {sum(losses) / len(losses):.4f} val_loss {sum(val_losses) / len(val_losses):.4f}")


fit(64)
fit(1024)
