import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_a = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.lora_a.t() @ self.lora_b.t())


class Trainer:
    def __init__(self, model, loader, lr):
        self.model, self.loader = model, loader
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(trainable, lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def training_step(self, batch):
        inputs, labels = batch
        return self.loss_fn(self.model(inputs), labels)

    def optimizer_step(self):
        self.optimizer.step()

    def train(self, epochs):
        self.model.train()
        for epoch in range(epochs):
            total = 0.0
            for batch in self.loader:
                loss = self.training_step(batch)
                loss.backward()
                self.optimizer_step()
                total += loss.item()
            print(f"epoch {epoch + 1}  loss {total / len(self.loader):.4f}")


x = torch.randn(2000, 24)
y = (x @ torch.randn(24, 6)).argmax(1)
model = nn.Sequential(LoRALinear(nn.Linear(24, 64)), nn.ReLU(), LoRALinear(nn.Linear(64, 6)))
trainer = Trainer(model, DataLoader(TensorDataset(x[:1600], y[:1600]), batch_size=32, shuffle=True), lr=0.01)
trainer.train(8)
model.eval()
with torch.no_grad():
    print(f"test accuracy {(model(x[1600:]).argmax(1) == y[1600:]).float().mean().item():.3f}")
