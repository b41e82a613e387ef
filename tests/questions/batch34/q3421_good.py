import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Trainer:
    def __init__(self, model, optimizer, scheduler, gradient_accumulation_steps):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self.loss_function = nn.MSELoss()

    def train_epoch(self, dataloader):
        total = 0.0
        for step, batch in enumerate(dataloader):
            inputs, targets = batch
            outputs = self.model(inputs)
            loss = self.loss_function(outputs, targets)
            total += loss.item()
            loss = loss / self.gradient_accumulation_steps
            loss.backward()
            if (step + 1) % self.gradient_accumulation_steps == 0:
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
        return total / len(dataloader)


def make_data(count=512, size=20):
    x = torch.randn(count, size)
    return TensorDataset(x, torch.sin(x @ torch.randn(size, 2)) + 0.1 * torch.randn(count, 2))


def main():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, gamma=0.5)
    trainer = Trainer(model, optimizer, scheduler, gradient_accumulation_steps=8)
    loader = DataLoader(make_data(), batch_size=4, shuffle=True)
    for epoch in range(8):
        loss = trainer.train_epoch(loader)
        if epoch % 2 == 1:
            print("epoch", epoch, "loss", round(loss, 4))


main()
