import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PatternClassifier(nn.Module):
    def __init__(self, vocab=50, dim=32, labels=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.classifier = nn.Linear(dim, labels)

    def forward(self, tokens):
        _, h = self.encoder(self.embeddings(tokens))
        return self.classifier(h[-1])


class Wrapper:
    def __init__(self):
        self.model = PatternClassifier()

    def train(
        self, dataset, batch_size=8, num_train_epochs=20, gradient_accumulation_steps=4, max_grad_norm=1.0
    ):
        train_dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        tr_loss = 0.0
        self.model.zero_grad()
        step = 0
        for epoch in range(num_train_epochs):
            epoch_loss = 0.0
            for batch in train_dataloader:
                self.model.train()
                tokens, labels = batch
                loss = nn.functional.cross_entropy(self.model(tokens), labels)
                if gradient_accumulation_steps > 1:
                    loss = loss / gradient_accumulation_steps
                loss.backward()
                epoch_loss += loss.item() * gradient_accumulation_steps
                step += 1
                if step % gradient_accumulation_steps == 0:
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_grad_norm)
                    optimizer.step()
                    self.model.zero_grad()
            tr_loss += epoch_loss
            if epoch % 4 == 3:
                print(f"epoch {epoch}: loss {epoch_loss / len(train_dataloader):.4f}")
        return tr_loss

    def eval(self, dataset):
        self.model.eval()
        tokens, labels = dataset.tensors
        with torch.no_grad():
            return (self.model(tokens).argmax(1) == labels).float().mean().item()


labels = torch.randint(0, 3, (16,))
tokens = torch.randint(3, 50, (16, 10))
tokens[torch.arange(16), torch.randint(0, 10, (16,))] = labels
dataset = TensorDataset(tokens, labels)
wrapper = Wrapper()
wrapper.train(dataset)
print(f"training accuracy {wrapper.eval(dataset):.3f}")
