import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)


class Args:
    per_gpu_train_batch_size = 32
    gradient_accumulation_steps = 12
    learning_rate = 2e-2
    num_train_epochs = 20
    max_grad_norm = 1.0
    warmup_steps = 2


class SequenceClassifier(nn.Module):
    def __init__(self, vocab=50, hidden=32, labels=2):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, hidden)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.classifier = nn.Linear(hidden, labels)

    def forward(self, input_ids, labels=None):
        out, _ = self.encoder(self.embeddings(input_ids))
        logits = self.classifier(out.mean(1))
        loss = nn.functional.cross_entropy(logits, labels)
        return loss, logits


def load_examples(n=320, vocab=50):
    input_ids = torch.randint(0, vocab, (n, 10))
    labels = ((input_ids < vocab // 2).sum(1) > 5).long()
    return TensorDataset(input_ids, labels)


def train(args, train_dataset, model):
    sampler = RandomSampler(train_dataset)
    train_dataloader = DataLoader(train_dataset, sampler=sampler, batch_size=args.per_gpu_train_batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, eps=1e-8)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / args.warmup_steps))
    tr_loss, seen = 0.0, 0
    model.zero_grad()
    for epoch in range(args.num_train_epochs):
        for step, batch in enumerate(train_dataloader):
            model.train()
            loss = model(input_ids=batch[0], labels=batch[1])[0]
            loss = loss / args.gradient_accumulation_steps
            loss.backward()
            tr_loss += loss.item() * args.gradient_accumulation_steps
            seen += 1
            if (step + 1) % args.gradient_accumulation_steps == 0 or step + 1 == len(train_dataloader):
                torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                model.zero_grad()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {tr_loss / seen:.4f}")
            tr_loss, seen = 0.0, 0


def main():
    args = Args()
    train(args, load_examples(), SequenceClassifier())


if __name__ == "__main__":
    main()
